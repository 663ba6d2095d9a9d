import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './launch.ts'

/** Commands of a document, and what its words say that comes of them. */
export interface Step {
  /** The block as it stands there. */
  readonly script: string
  /** What must be in the output: code within the paragraph before, as it stands there. */
  readonly announced: readonly string[]
  /** The block of output that follows; undefined when none does. */
  readonly shown: readonly string[] | undefined
}

/** Code in a paragraph that is a result: a piece of JSON, or `name value` as a command prints it. */
const RESULT = /^"[a-z_]+":|^[a-z_.]+ \S/

/** The steps of a section of the README, in their order. */
export function stepsOf(heading: string): readonly Step[] {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))
  if (section === undefined) throw new Error(`README.md has no section ${heading}`)
  const steps: Step[] = []
  let before = ''
  for (const part of section.split(/^(```[\s\S]*?^```)$/m)) {
    const [, language = '', body = ''] = /^```(\w*)\n([\s\S]*?)```$/.exec(part) ?? []
    if (!part.startsWith('```')) before = part
    else if (language === 'sh') {
      steps.push({ script: body, announced: announcedIn(before), shown: undefined })
      before = ''
    } else {
      const last = steps.pop()
      if (last !== undefined) steps.push({ ...last, shown: body.trimEnd().split('\n') })
    }
  }
  return steps
}

function announcedIn(paragraphs: string): readonly string[] {
  const codes = [...paragraphs.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '))
  return codes.filter((code) => RESULT.test(code) && !/^(npm|svc|api|curl) /.test(code))
}

/** A text with what differs from run to run left out, and blanks as one. */
export function plain(text: string): string {
  return (
    text
      .replaceAll(/\b[0-9a-f]{12}\b/g, '<sim>')
      .replaceAll(/\d{4}-\d\d-\d\d(T[0-9:.]+Z)?/g, '<time>')
      .replaceAll(/…\d{4}\b/g, '…<end>')
      // A phone that was let go calls again a moment later.
      .replaceAll(/\b(attaching|detached)(?=\s.*the network let it go)/g, '<calling>')
      .replaceAll(/[ \t]+/g, ' ')
      .trim()
  )
}
