/** A setting as libconfig has it: a group, a list or array, or a value. */
export type Setting = string | number | boolean | readonly Setting[] | Group
/** A group's settings by name. */
export interface Group {
  readonly [name: string]: Setting
}

const TOKEN =
  /\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|("(?:[^"\\]|\\.)*")|([A-Za-z*][-A-Za-z0-9_*]*)|([-+]?(?:0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][-+]?\d+)?))|([{}()[\]=:;,])/gy

/** Reads a file of libconfig. Throws where libconfig sees a syntax error; `line` of the error is where. */
export function readLibconfig(text: string): Group {
  const tokens = [...tokensOf(text)]
  let at = 0
  const take = (): string => tokens[at++]?.text ?? ''
  const next = (): string => tokens[at]?.text ?? ''
  const wrong = (): never => {
    throw Object.assign(new Error('syntax error'), { line: tokens[at]?.line ?? 0 })
  }
  const members = (end: string): Group => {
    const group: Record<string, Setting> = {}
    while (next() !== end) {
      const name = take()
      if (!/^[A-Za-z*]/.test(name) || !['=', ':'].includes(take())) wrong()
      group[name] = value()
      if ([';', ','].includes(next())) take()
    }
    take()
    return group
  }
  const items = (end: string): readonly Setting[] => {
    const list: Setting[] = []
    while (next() !== end) {
      list.push(value())
      if (next() === ',') take()
      else if (next() !== end) wrong()
    }
    take()
    return list
  }
  const value = (): Setting => {
    const token = take()
    if (token === '{') return members('}')
    if (token === '(') return items(')')
    if (token === '[') return items(']')
    if (token.startsWith('"')) return token.slice(1, -1)
    if (/^(?:true|false)$/i.test(token)) return token.toLowerCase() === 'true'
    return /^[-+.0-9]/.test(token) ? Number(token) : wrong()
  }
  return members('')
}

function* tokensOf(text: string): Iterable<{ readonly text: string; readonly line: number }> {
  TOKEN.lastIndex = 0
  let line = 1
  while (TOKEN.lastIndex < text.length) {
    const found = TOKEN.exec(text)
    if (found === null) throw Object.assign(new Error('syntax error'), { line })
    const token = found.slice(1).find((each) => each !== undefined)
    if (token !== undefined) yield { text: token, line }
    line += found[0].split('\n').length - 1
  }
}
