// Tables in Markdown, for what is rendered from declarations.

export function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${head.map((_, column) => cell(cells[column] ?? '')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}

export function code(text: string): string {
  return `\`${text}\``
}

/** A cell is one line, and a bar would end it, even in code. What is escaped already stays as it is. */
function cell(text: string): string {
  return text
    .replaceAll(/(?<!\\)\|/g, String.raw`\|`)
    .replaceAll(/\s+/g, ' ')
    .trim()
}
