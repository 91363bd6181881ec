/** ISO 8601 in UTC; what is no moment as the number that it is. */
export function isoTime(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
