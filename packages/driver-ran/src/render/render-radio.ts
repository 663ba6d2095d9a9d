import { createHash } from 'node:crypto'
import { type Rendered, validationFailed } from '@steeple/contracts'
import { type CellPlan, cellPlan, type RenderProblem } from './cell-plan.ts'
import { enbConf } from './enb-conf.ts'
import { gnbYml } from './gnb-yml.ts'
import type { RadioInput } from './radio-input.ts'
import { rbConf } from './rb-conf.ts'
import { renderProblems } from './render-problems.ts'
import { rrConf } from './rr-conf.ts'
import { sibConf } from './sib-conf.ts'

/** What a radio process is started with. */
export interface RadioPlan {
  readonly rendered: Rendered
  /** The carrier that the process must say it uses. */
  readonly cell: CellPlan
  /** Arguments of the program; the configuration files are named by absolute paths. */
  readonly args: readonly string[]
  /** The file by which an orphan is recognised: it is in the arguments. */
  readonly mainFile: string
}

/**
 * Files and arguments of the radio process. Pure: same input, same bytes.
 *
 * Throws `validation_failed` with every reason: a value that the program would take silently and wrongly included.
 */
export function renderRadio(input: RadioInput): RadioPlan {
  const plan = cellPlan(input.profile, input.ran.scs_khz)
  const problems = [...renderProblems(input), ...(isPlan(plan) ? [] : plan)]
  if (problems.length > 0 || !isPlan(plan)) throw invalid(problems)
  const files = input.ran.program === 'srsenb' ? enbFiles(input, plan) : gnbFiles(input, plan)
  const path = (name: string): string => `${input.directory}/${name}`
  const args =
    input.ran.program === 'srsenb'
      ? [...input.ran.args, path('enb.conf')]
      : [...(files.has('overlay.yml') ? ['-c', path('overlay.yml')] : []), '-c', path('gnb.yml')]
  return {
    rendered: { files, sha256: digest(files, [input.ran.binary, ...args]) },
    cell: plan,
    args,
    mainFile: path(input.ran.program === 'srsenb' ? 'enb.conf' : 'gnb.yml'),
  }
}

function enbFiles(input: RadioInput, plan: CellPlan): ReadonlyMap<string, string> {
  return new Map([
    ['enb.conf', enbConf(input, plan)],
    ['rr.conf', rrConf(input, plan)],
    ['sib.conf', input.overlays.get('sib.conf') ?? sibConf(plan)],
    ['rb.conf', input.overlays.get('rb.conf') ?? rbConf()],
  ])
}

/** The overlay comes first on the command line: what the driver decides wins. */
function gnbFiles(input: RadioInput, plan: CellPlan): ReadonlyMap<string, string> {
  const overlay = input.overlays.get('gnb.yml')
  const files = new Map([['gnb.yml', gnbYml(input, plan)]])
  if (overlay !== undefined) files.set('overlay.yml', overlay)
  return files
}

function isPlan(plan: CellPlan | readonly RenderProblem[]): plan is CellPlan {
  return !Array.isArray(plan)
}

function invalid(problems: readonly RenderProblem[]): Error {
  const text = problems.map(({ message }) => message).join('; ')
  return validationFailed(`the radio cannot be configured: ${text}`, {
    details: problems.map(({ key, message }) => ({ pointer: `/${key.replaceAll('.', '/')}`, message })),
  })
}

function digest(files: ReadonlyMap<string, string>, command: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of [...files].flat().concat(command)) hash.update(`${Buffer.byteLength(part)}:${part}`)
  return hash.digest('hex')
}
