/**
 * A text with what it names filled in: `{name}`, and `{count|card|cards}` for the form that a number needs in a language; numbers are
 * written as in `locale`. What is not given is left out.
 */
export function fill(
  text: string,
  values: Readonly<Record<string, string | number>>,
  language: string,
  locale = language,
): string {
  return text.replaceAll(
    /\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g,
    (_, name: string, one?: string, many?: string) => {
      const value = values[name] ?? ''
      if (one === undefined) return typeof value === 'number' ? value.toLocaleString(locale) : value
      return (new Intl.PluralRules(language).select(Number(value)) === 'one' ? one : many) ?? ''
    },
  )
}
