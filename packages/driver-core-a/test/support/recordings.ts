import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const DIR = join(import.meta.dirname, '..', '..', 'fixtures', 'recordings')

const READ = new Map<string, string>()

/** What the real daemons answered, by file name. */
export function recording(name: string): string {
  const text = READ.get(name) ?? readFileSync(join(DIR, name), 'utf8')
  READ.set(name, text)
  return text
}

/** The first entry of a recorded list. */
export function recordedItem(name: string): Record<string, unknown> {
  // A recording: its shape is what the tests are about.
  const { items } = JSON.parse(recording(name)) as { items: readonly Record<string, unknown>[] }
  return structuredClone(items[0] ?? {})
}
