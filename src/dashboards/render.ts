// Writes the dashboards to deploy/grafana/dashboards: `npm run dashboards`.

import { writeFile } from 'node:fs/promises'
import { dashboards, textOf } from './all.ts'

const folder = new URL('../../deploy/grafana/dashboards/', import.meta.url)
for (const [name, dashboard] of dashboards()) await writeFile(new URL(name, folder), textOf(dashboard))
