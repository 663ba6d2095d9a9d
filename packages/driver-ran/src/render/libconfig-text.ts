/** A comment, or a string; strings of several lines are left over and refused. */
const COMMENT_OR_STRING = /\/\*[\s\S]*?\*\/|(?:#|\/\/)[^\n]*|"(?:[^"\\\n]|\\[^\n])*"/gu

/**
 * Text of libconfig with a blank for each comment and `""` for each string: names in what is left are settings.
 *
 * Undefined when a comment or string is not closed, so that nobody can tell what is a setting.
 */
export function bareLibconfig(text: string): string | undefined {
  const bare = text.replace(COMMENT_OR_STRING, (found) => (found.startsWith('"') ? '""' : ' '))
  return /["/\\]/u.test(bare.replaceAll('""', '')) ? undefined : bare
}
