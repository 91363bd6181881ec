// Puts a page together from the JSON of its records. Joining strings first, and encoding them afterwards,
// takes three times as long.

/** The envelope of a list around the texts. */
export type PageWriter = (texts: Iterable<string>) => Buffer

export function createPageWriter(): PageWriter {
  let scratch = Buffer.allocUnsafe(1 << 20)
  return (texts) => {
    let length = scratch.write('{"status":200,"body":[')
    let separated = true
    for (const text of texts) {
      // A character takes at most three bytes; comma, closing and a spare one besides.
      const needed = length + text.length * 3 + 4
      if (needed > scratch.length) scratch = enlarge(scratch, length, needed)
      if (!separated) scratch[length++] = comma
      separated = false
      length += scratch.write(text, length)
    }
    length += scratch.write(']}', length)
    const page = Buffer.from(scratch.subarray(0, length))
    // A page of huge records is rare: its memory is not held for the next one.
    if (scratch.length > 16 << 20) scratch = Buffer.allocUnsafe(1 << 20)
    return page
  }
}

const comma = 0x2c

function enlarge(scratch: Buffer, used: number, needed: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafe(Math.max(needed, scratch.length * 2))
  scratch.copy(larger, 0, 0, used)
  return larger
}
