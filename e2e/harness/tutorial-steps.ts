import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually } from '@steeple/testkit'
import { ROOT } from './launch.ts'

/** A step on a busy machine. */
const STEP_MS = 180_000

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

/** The steps of the first ten minutes, in their order. */
export function tenMinutesSteps(): readonly Step[] {
  const text = readFileSync(join(ROOT, 'docs/tutorials/first-ten-minutes.md'), 'utf8')
  const steps: Step[] = []
  let before = ''
  for (const part of text.split(/^(```[\s\S]*?^```)$/m)) {
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
function plain(text: string): string {
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

/** Holds what a step printed against what is announced of it; gives how many results were compared. */
function compareStep({ script, announced, shown = [] }: Step, output: string): number {
  const seen = plain(output)
  const isOk = (text: string): boolean => seen.includes(plain(text))
  for (const text of announced) assert.ok(isOk(text), `announced ${text} of\n${script}\nprinted\n${output}`)
  const lines = seen.split('\n').map((line) => line.trim())
  let at = -1
  for (const line of shown) {
    at = lines.indexOf(plain(line), at + 1)
    assert.ok(at >= 0, `shown ${line} of\n${script}\nprinted\n${output}`)
  }
  assert.not.match(output, /command not found|npm error|\n +at .*node:/)
  return announced.length + shown.length
}

/**
 * Types a step and holds what it printed; gives how many results were compared. A phone that tries again is listed while it is
 * refused: what only looks at a SIM looks again until it sees what is announced.
 */
export async function takeStep(shell: TypedShell, step: Step, script: string): Promise<number> {
  const isLook = script
    .split('\n')
    .every((line) => /^((npm run -s )?svc (-- )?sim (find|why) .*)?$/.test(line.trim()))
  const isSeen = (output: string): boolean =>
    step.announced.every((text) => plain(output).includes(plain(text)))
  let output = await shell.run(script)
  for (let turn = 0; isLook && turn < 20 && !isSeen(output); turn += 1) output = await shell.run(script)
  return compareStep(step, output)
}

/** A shell that a person types into. */
export interface TypedShell {
  /** Runs lines and gives all that they print. */
  run(lines: string): Promise<string>
}

/** Types into a shell that was started with pipes. */
export function typedShell({ stdin, stdout, stderr }: ChildProcess): TypedShell {
  let text = ''
  for (const stream of [stdout, stderr])
    stream?.on('data', (chunk) => {
      text += chunk
    })
  let count = 0
  return {
    run: async (lines) => {
      count += 1
      const end = `--- end of step ${count}`
      text = ''
      stdin?.write(`${lines}\necho; echo "${end}"; echo "${end}" >&2\n`)
      await eventually(async () => text.split(end).length > 2, STEP_MS)
      return text.replaceAll(end, '')
    },
  }
}
