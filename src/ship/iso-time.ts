// Unix milliseconds as RFC 3339 text. A page has few distinct seconds, so the text is cached per second.

const slots = 256
const seconds = new Float64Array(slots).fill(-1)
const texts = Array.from({ length: slots }, () => '')
const fractions = Array.from({ length: 1000 }, (_, ms) => `.${String(ms).padStart(3, '0')}Z`)

/** The first millisecond of the year 10000: RFC 3339 section 5.6 has four digits for the year. */
const end = 253_402_300_800_000

/** For example `2026-11-21T05:16:00.042Z`; undefined for what is no time of the years 1970 to 9999. */
export function isoTime(unixMs: number): string | undefined {
  if (!(unixMs >= 0 && unixMs < end)) return undefined
  const second = Math.floor(unixMs / 1000)
  const slot = second % slots
  if (seconds[slot] !== second) {
    seconds[slot] = second
    texts[slot] = new Date(second * 1000).toISOString().slice(0, 19)
  }
  return `${texts[slot]}${fractions[Math.floor(unixMs - second * 1000)]}`
}
