import { word } from '../text/index.ts'

/** Who did something, as the API tells of them. */
interface Who {
  readonly kind: string
  readonly name: string
}

/** Kinds whose names say nothing to people: a variable, a part of the service. */
const NAMELESS: readonly string[] = ['admin-env', 'system']

/** Who somebody is, as people say it: the name, or what it is. */
export function whoText({ kind, name }: Who): string {
  return name === '' || name === kind || NAMELESS.includes(kind) ? word('audit.kind', kind) : name
}

/** The same of a text such as `user:ada`. */
export function whoOf(text: string): string {
  const [, kind, name] = /^([a-z-]+):(.*)$/.exec(text) ?? []
  return kind === undefined || name === undefined ? text : whoText({ kind, name })
}
