import { readFileSync } from 'node:fs'

/** How gnb takes its file: what it prints, and the code with which it ends; undefined when it starts. */
export interface GnbVerdict {
  readonly lines: readonly { readonly stream: 'out' | 'err'; readonly text: string }[]
  readonly code: number | undefined
  /** Whether it logs its figures onto its output: only what it logs brings out what it has printed. */
  readonly isLogging: boolean
}

/** Whether a line is of its log, which it sends at once. */
export function isLogged(line: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(line)
}

/** What it logs each second of its core, whether slots pass or not. */
export const CORE_FIGURES = '2026-11-27T02:50:00.000000 [METRICS ] CU-CP NGAP metrics: '

/** What it logs each second while slots pass, when it is to log its figures. */
export function figuresLine(phones: number): string {
  return (
    '2026-11-27T02:50:00.000000 [METRICS ] Scheduler cell pci=1 metrics: total_dl_brate=0bps total_ul_brate=0bps nof_prbs=51 ' +
    `error_indications=0 failed_pdcch=0 failed_uci=0 nof_ues=${phones} late_dl_harqs=0`
  )
}

/** Reads `gnb.yml` as far as it decides what is printed. */
export function readGnbFile(path: string): GnbVerdict {
  const text = readFileSync(path, 'utf8')
  return { lines: [], code: undefined, isLogging: /^ {2}enable_log: true$/m.test(text) }
}
