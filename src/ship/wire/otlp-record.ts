// One event as a LogRecord of OTLP in JSON (opentelemetry-proto, docs/specification.md, "JSON Protobuf Encoding":
// names in lowerCamelCase, enumerations as numbers, 64-bit integers as text).

import { levelOf, type Level, type SecurityEvent } from '../../event.ts'

/** SeverityNumber of the OpenTelemetry log data model; INFO2 is what it makes of the notice of syslog. */
const severities: Readonly<Record<Level, number>> = {
  informational: 9, // INFO
  low: 10, // INFO2
  medium: 13, // WARN
  high: 17, // ERROR
  critical: 21, // FATAL
}

/**
 * The encoded event is the body, as text: receivers keep and search text, and parse JSON in it, whereas few take in a
 * tree of their key-value pairs. What is filtered by is in attributes. `log.record.uid` is the name that the semantic
 * conventions have for what drops duplicates.
 */
export function logRecord(event: SecurityEvent, encoded: string): string {
  const level = levelOf(event.severity)
  return (
    `{"timeUnixNano":"${nanoseconds(event.time)}","observedTimeUnixNano":"${nanoseconds(event.observedTime)}"` +
    `,"severityNumber":${severities[level]},"severityText":"${level}"` +
    `,"eventName":"tailrace.${event.kind}.${event.action}","body":{"stringValue":${quoted(encoded)}}` +
    `,"attributes":[${attributesOf(event)}]}`
  )
}

/** `attributes` of a resource. */
export function textAttributes(table: Readonly<Record<string, string>>): string {
  return `[${Object.entries(table).map(labelled).join(',')}]`
}

function attributesOf(event: SecurityEvent): string {
  const labels = Object.entries(event.labels).map(([name, value]) => labelled([`tailrace.label.${name}`, value]))
  return [
    textAttribute('log.record.uid', event.id),
    textAttribute('tailrace.tenant', event.tenant),
    ...integerAttribute('tailrace.client', event.client),
    `{"key":"tailrace.stream","value":{"stringValue":"${event.stream}"}}`,
    `{"key":"tailrace.kind","value":{"stringValue":"${event.kind}"}}`,
    `{"key":"tailrace.action","value":{"stringValue":"${event.action}"}}`,
    textAttribute('tailrace.identity', event.identity),
    ...integerAttribute('tailrace.revision', event.revision),
    ...integerAttribute('tailrace.sequence', event.sequence),
    ...integerAttribute('tailrace.severity', event.severity),
    `{"key":"tailrace.replayed","value":{"boolValue":${event.replayed}}}`,
    ...labels,
  ].join(',')
}

function labelled([key, value]: readonly [string, string]): string {
  return `{"key":${quoted(key)},"value":{"stringValue":${quoted(value)}}}`
}

/** The key is one of ours, and needs no escapes. */
function textAttribute(key: string, value: string): string {
  return `{"key":"${key}","value":{"stringValue":${quoted(value)}}}`
}

/** None for what is no whole number. */
function integerAttribute(key: string, value: number | null): string[] {
  return Number.isSafeInteger(value) ? [`{"key":"${key}","value":{"intValue":"${value}"}}`] : []
}

/** Lone surrogates have no UTF-8 form: Protobuf refuses a whole request for one, escaped or not. */
function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed())
}

/** The end of what 64 bits can count, in milliseconds. */
const end = 18_446_744_073_709

/** 0 is how OTLP says that a time is unknown. */
function nanoseconds(unixMs: number): string {
  return unixMs >= 1 && unixMs < end ? `${Math.floor(unixMs)}000000` : '0'
}
