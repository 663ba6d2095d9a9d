import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const DIR = join(import.meta.dirname, '..', '..', '..', 'fixtures', 'open5gs-info')

/** What the real daemons answered, by file name. */
export function recording(name: string): string {
  return readFileSync(join(DIR, name), 'utf8')
}

/** The entries of a recorded list. */
export function recordedItems(name: string): readonly unknown[] {
  // A recording: its shape is what the tests are about.
  return (JSON.parse(recording(name)) as { items: readonly unknown[] }).items
}
