import { leavesOf } from '@steeple/settings'
import type { ReadManifest } from './manifest.ts'

/** A line of each README that `svc plugin new` writes. */
const SCAFFOLD = 'This is the text of svc plugin new'
/** What the keys of a section are called in a text: the whole path. */
const WORD = '[a-z0-9_]'

/**
 * What is wrong with the README that goes along with a package: it is that of the template, or does not name what the manifest has.
 * It is what an operator reads before he trusts a plugin.
 */
export function readmeWarnings(
  readme: string | undefined,
  { package: { steeple }, section }: Pick<ReadManifest, 'package' | 'section'>,
): readonly string[] {
  if (readme === undefined)
    return [
      'there is no README.md: say what it is for, what its keys are, and what it does when something fails',
    ]
  const keys = leavesOf(section.schema ?? {}).map(({ path }) => path.join('.'))
  const missing = keys.filter((key) => !hasWord(readme, key))
  const gone = keysIn(readme, steeple.config_path).filter((key) => !isKnown(key, keys))
  return [
    ...(readme.includes(SCAFFOLD) ? ['README.md is still the text of svc plugin new'] : []),
    ...[steeple.id, steeple.kind].flatMap((word, at) =>
      hasWord(readme, word) ? [] : [`README.md does not name its ${at === 0 ? 'id' : 'kind'}, ${word}`],
    ),
    ...(missing.length === 0 ? [] : [`README.md does not name the configuration's ${missing.join(', ')}`]),
    ...(gone.length === 0
      ? []
      : [`README.md names ${gone.join(', ')}, which config.schema.json does not have`]),
  ]
}

/** Names begin and end where the characters of names do; how they are written does not matter. */
function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?<!${WORD})${escaped(word)}(?!${WORD})`, 'i').test(text)
}

/** The keys under a path that a text names. */
function keysIn(text: string, path: string): readonly string[] {
  const key = new RegExp(`(?<![a-z0-9_./-])${escaped(path)}(?:\\.${WORD}+)+`, 'g')
  // A file of that name, and the name of a service, are no keys.
  return [...new Set([...text.matchAll(key)].map(([found]) => found))].filter(
    (found) => !/\.(ts|js|json|md|yaml|tgz|driver|transmitter)$/.test(found),
  )
}

/** Also a group of keys, and what lies under a key that is an object. */
function isKnown(key: string, keys: readonly string[]): boolean {
  return keys.some((one) => one === key || one.startsWith(`${key}.`) || key.startsWith(`${one}.`))
}

function escaped(word: string): string {
  return word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
