// CloudEvents 1.0.2 in JSON (github.com/cloudevents/spec, cloudevents/formats/json-format.md): the envelope of an event.

import type { SecurityEvent } from '../../event.ts'
import { isoTime } from '../iso-time.ts'

/** Media type of a JSON array of events (json-format.md section 4). */
export const cloudEventsBatch = 'application/cloudevents-batch+json; charset=utf-8'

/** `encoded` is one JSON object; it becomes `data`. `source` and `id` together are unique, and stay when it is sent again. */
export function cloudEvent(event: SecurityEvent, encoded: string): string {
  const source = `/tailrace/${encodeURIComponent(event.tenant.toWellFormed())}/${event.stream}`
  const time = isoTime(event.time)
  return (
    `{"specversion":"1.0","id":${JSON.stringify(event.id)},"source":${JSON.stringify(source)}` +
    `,"type":"tailrace.${event.kind}.${event.action}"` +
    (event.identity === '' ? '' : `,"subject":${JSON.stringify(allowed(event.identity))}`) +
    (time === undefined ? '' : `,"time":"${time}"`) +
    `,"datacontenttype":"application/json","data":${encoded}}`
  )
}

/** Control characters, lone surrogates and noncharacters are not allowed in attributes (spec.md, "Type System"). */
function allowed(text: string): string {
  return text.toWellFormed().replaceAll(/[\p{Cc}\p{Noncharacter_Code_Point}]/gu, '\ufffd')
}
