// Whether programs can be given a terminal here: `script` makes one, where the machine has such devices.

import { spawnSync } from 'node:child_process'

export const hasTerminals = spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0
