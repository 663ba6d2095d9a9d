import type { FileChange } from '../config-set/changes.ts'
import { redacted } from '../redact.ts'

const MOST_CHARACTERS = 32_768

/** What changes in a file, as a unified diff without secrets; undefined when nothing does. */
export async function fileDiff({ path, before, after }: FileChange): Promise<string | undefined> {
  if (before === after) return undefined
  const { createTwoFilesPatch } = await import('diff')
  const [from, to] = [redacted(before ?? ''), redacted(after ?? '')]
  const names = [
    before === undefined ? '/dev/null' : `a/${path}`,
    after === undefined ? '/dev/null' : `b/${path}`,
  ] as const
  const patch = createTwoFilesPatch(names[0], names[1], from, to, undefined, undefined, {
    context: 3,
    timeout: 500,
  })
  if (patch === undefined) return '(too different to be shown)'
  const shown = patch.replace(/^=+\n/, '')
  if (from === to) return `${shown}(a secret value changes)\n`
  return shown.length > MOST_CHARACTERS ? `${shown.slice(0, MOST_CHARACTERS)}\n(cut off)\n` : shown
}
