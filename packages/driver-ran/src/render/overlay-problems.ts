import type { RenderProblem } from './cell-plan.ts'
import type { RadioInput } from './radio-input.ts'

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

/** What a radio must not say: another uplink, networks that are not the node's, public warnings (SIB 10 to 12). */
const FOREIGN = /\b(?:ul_carrier_freq|additional_plmns|sib1[0-2])\s*[=:]/u

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
    const found = overlayProblem(ran.program, name, content)
    if (found !== undefined) problems.push({ key: 'ran.template_dir', message: `${name}: ${found}` })
  }
  return problems
}

function overlayProblem(program: 'srsenb' | 'gnb', name: string, content: string): string | undefined {
  if (!OVERLAY_NAMES[program].includes(name)) return `${program} has no overlay of that name`
  if (Buffer.byteLength(content) > OVERLAY_BYTES) return `larger than ${OVERLAY_BYTES} bytes`
  if (program === 'srsenb') {
    const section = name === 'sib.conf' ? /^\s*sib1\s*=/mu : /^\s*qci_config\s*=/mu
    if (/^\s*@include/mu.test(content)) return 'it must not include other files'
    if (FOREIGN.test(content)) return 'it must not set ul_carrier_freq, additional_plmns or public warnings'
    return section.test(content) ? undefined : 'its first section is missing'
  }
  const bad = content.split(/\r\n|[\n\r\u0085\u2028\u2029]/u).find((line) => !isHarmless(line))
  return bad === undefined
    ? undefined
    : `it may hold the sections ${GNB_SECTIONS.join(', ')} alone, not the line ${JSON.stringify(bad.slice(0, 64))}`
}

function isHarmless(line: string): boolean {
  if (line.trim() === '' || /^#/u.test(line) || /^ +\S/u.test(line)) return true
  const section = /^([a-z_]+):(?: *| +#.*)$/u.exec(line)?.[1]
  return section !== undefined && GNB_SECTIONS.includes(section)
}
