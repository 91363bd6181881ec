// Durations and sizes as people write them.

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const sizeUnits = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const

/** `15s`, `10m`, `24h` in milliseconds; undefined: not a duration. */
export function parseDuration(text: string): number | undefined {
  return parseQuantity(text, durationUnits)
}

/** `512kb`, `256mb` in bytes; a number alone is bytes; undefined: not a size. */
export function parseSize(text: string): number | undefined {
  return parseQuantity(/^\s*\d+\s*$/.test(text) ? `${text.trim()}b` : text, sizeUnits)
}

export function showDuration(ms: number): string {
  return showQuantity(ms, durationUnits, 's')
}

export function showSize(bytes: number): string {
  return showQuantity(bytes, sizeUnits, 'b')
}

type Units = Readonly<Record<string, number>>

function parseQuantity(text: string, units: Units): number | undefined {
  const parts = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text.trim().toLowerCase())
  const factor = parts?.[2] === undefined || !Object.hasOwn(units, parts[2]) ? undefined : units[parts[2]]
  return factor === undefined ? undefined : Math.round(Number(parts?.[1]) * factor)
}

function showQuantity(value: number, units: Units, zero: string): string {
  if (value === 0) return `0${zero}`
  const largest = Object.entries(units).findLast(([, factor]) => value % factor === 0)
  return largest === undefined ? String(value) : `${value / largest[1]}${largest[0]}`
}
