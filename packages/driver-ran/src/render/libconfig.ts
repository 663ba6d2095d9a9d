/** A value of libconfig's syntax. Numbers are written as integers unless they have a fraction; lists hold groups. */
export type LibconfigValue =
  | string
  | number
  | boolean
  | readonly number[]
  | readonly LibconfigGroup[]
  | LibconfigGroup
/** Settings of a group, in order. */
export interface LibconfigGroup {
  readonly [key: string]: LibconfigValue
}

/** The text of top-level settings in libconfig's syntax, as `rr.conf`, `sib.conf` and `rb.conf` have it. */
export function libconfig(settings: LibconfigGroup): string {
  return `${members(settings, '')}`
}

function members(group: LibconfigGroup, indent: string): string {
  return Object.entries(group)
    .map(([key, value]) => `${indent}${key} = ${text(value, indent)};\n`)
    .join('')
}

function text(value: LibconfigValue, indent: string): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (isList(value)) {
    if (value.length === 0) return '( )'
    if (isNumbers(value)) return `[ ${value.join(', ')} ]`
    return `(\n${value.map((each) => `${indent}  ${block(each, `${indent}  `)}`).join(',\n')}\n${indent})`
  }
  return block(value, indent)
}

function block(group: LibconfigGroup, indent: string): string {
  return `{\n${members(group, `${indent}  `)}${indent}}`
}

function isList(value: LibconfigValue): value is readonly number[] | readonly LibconfigGroup[] {
  return Array.isArray(value)
}

function isNumbers(list: readonly number[] | readonly LibconfigGroup[]): list is readonly number[] {
  return typeof list[0] === 'number'
}
