import type { RenderProblem } from './cell-plan.ts'
import { programOf, type RadioInput } from './radio-input.ts'

/** A comment, or a string; strings of several lines are left over and refused. */
const COMMENT_OR_STRING = /\/\*[\s\S]*?\*\/|(?:#|\/\/)[^\n]*|"(?:[^"\\\n]|\\[^\n])*"/gu

/**
 * Text of libconfig with a blank for each comment and `""` for each string: names in what is left are settings.
 *
 * Undefined when a comment or string is not closed, so that nobody can tell what is a setting.
 */
function bareLibconfig(text: string): string | undefined {
  const bare = text.replace(COMMENT_OR_STRING, (found) => (found.startsWith('"') ? '""' : ' '))
  return /["/\\]/u.test(bare.replaceAll('""', '')) ? undefined : bare
}

/** Names of overlay files by program. */
export const OVERLAY_NAMES: Readonly<Record<'srsenb' | 'gnb', readonly string[]>> = {
  srsenb: ['sib.conf', 'rb.conf'],
  gnb: ['gnb.yml'],
}

/** An overlay file is at most so large, bytes. */
export const OVERLAY_BYTES = 65_536

/** Top-level sections of gnb's YAML that say nothing of carrier, power, identity, addresses, logs or control. */
const GNB_SECTIONS: readonly string[] = [
  'qos',
  'srbs',
  'slicing',
  'expert_phy',
  'expert_execution',
  'buffer_pool',
  'hal',
]

/**
 * What a radio must not say: another uplink, networks that are not the node's, public warnings (SIB 10 to 12). As the end
 * of a name, since libconfig takes `1sib12` as two tokens; `=` or `:` may come anywhere later.
 */
const FOREIGN = /(?:ul_carrier_freq|additional_plmns|sib1[0-2])(?![-A-Za-z0-9_*])/iu
/** The sections without which srsenb ends at its start. Those of 5G are required from release 22.04 on. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'sib.conf': ['sib1', 'sib2'],
  'rb.conf': ['qci_config', 'srb1_5g_config', 'srb2_5g_config', 'five_qi_config'],
}

/** Characters that some programs take as the end of a line or of the file, and others do not. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const UNSURE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]|\r(?!\n)/u

/**
 * Why the overlay files must not be used.
 *
 * `sib.conf` and `rb.conf` cannot move the carrier: frequency and power are in `rr.conf` and `enb.conf`, which no
 * overlay replaces. `gnb.yml` could (`cell_cfg`, `cells`, `ru_sdr`), so each of its unindented lines must open one of
 * the sections above.
 */
export function overlayProblems({ ran, overlays }: RadioInput): readonly RenderProblem[] {
  const problems: RenderProblem[] = []
  for (const [name, content] of overlays) {
    const found = overlayProblem(programOf(ran), name, content)
    if (found !== undefined) problems.push({ key: 'ran.template_dir', message: `${name}: ${found}` })
  }
  return problems
}

function overlayProblem(program: 'srsenb' | 'gnb', name: string, content: string): string | undefined {
  if (!OVERLAY_NAMES[program].includes(name)) return `${program} has no overlay of that name`
  if (Buffer.byteLength(content) > OVERLAY_BYTES) return `larger than ${OVERLAY_BYTES} bytes`
  if (UNSURE.test(content)) return 'it must not hold control characters or line ends but LF and CR LF'
  return program === 'srsenb' ? enbProblem(name, content) : gnbProblem(content)
}

function enbProblem(name: string, content: string): string | undefined {
  const bare = bareLibconfig(content)
  if (bare === undefined) return 'a comment or string is not closed in it, or a string has several lines'
  if (bare.includes('@')) return 'it must not include other files'
  if (FOREIGN.test(bare)) return 'it must not set ul_carrier_freq, additional_plmns or public warnings'
  const missing = (SECTIONS[name] ?? []).filter((section) => !hasSection(bare, section))
  return missing.length === 0 ? undefined : `srsenb needs sections that are missing: ${missing.join(', ')}`
}

/** Whether a setting of that very name is there: not as the end of another name. */
function hasSection(bare: string, section: string): boolean {
  return new RegExp(`(?<![-A-Za-z_*][-A-Za-z0-9_*]*)${section}\\s*[=:]`, 'u').test(bare)
}

/** The first line says how far the sections are indented: when it opens one, every later one is unindented as well. */
function gnbProblem(content: string): string | undefined {
  const lines = content.split(/\r?\n/u).filter((line) => !/^(?:[ \t]*| *#.*)$/u.test(line))
  const [first] = lines
  const bad =
    first === undefined || opensSection(first)
      ? lines.find((line) => !/^ +\S/u.test(line) && !opensSection(line))
      : first
  return bad === undefined
    ? undefined
    : `it may hold the sections ${GNB_SECTIONS.join(', ')} alone, not the line ${JSON.stringify(bad.slice(0, 64))}`
}

function opensSection(line: string): boolean {
  const section = /^([a-z_]+):(?: *| +#.*)$/u.exec(line)?.[1]
  return section !== undefined && GNB_SECTIONS.includes(section)
}
