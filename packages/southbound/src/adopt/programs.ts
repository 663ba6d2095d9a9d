import { basename, isAbsolute, join } from 'node:path'

/** Cores whose daemons are known by their names. */
export type FoundCore = 'core_a' | 'core_b'

/** A daemon by its command line. */
export interface Program {
  readonly core: FoundCore
  /** `mme`, `smf`, …: the key under which the configuration names it. */
  readonly role: string
  /** The file that it reads, as it sees it; undefined for a relative path where its folder is not known. */
  readonly configFile: string | undefined
}

const OPEN5GS =
  /^(?:lt-)?open5gs-(mme|sgwc|sgwu|smf|upf|hss|pcrf|nrf|scp|sepp|amf|ausf|udm|udr|pcf|nssf|bsf)d$/
const FREE5GC = /^(?:free5gc-)?(nrf|amf|smf|upf|ausf|udm|udr|pcf|nssf|chf|nef|n3iwf|bsf|tngf)$/

/** Which daemon of which core a command line starts; undefined for anything else. `folder` is where relative paths begin. */
export function programOf(argv: readonly string[], folder?: string): Program | undefined {
  // A shell that starts one is no daemon, what it starts is.
  const name = basename(argv[0] ?? '')
  const file = fileIn(argv)
  const open5gs = OPEN5GS.exec(name)?.[1]
  if (open5gs !== undefined)
    return {
      core: 'core_a',
      role: open5gs,
      configFile: absolute(file ?? `/etc/open5gs/${open5gs}.yaml`, folder),
    }
  const free5gc = FREE5GC.exec(name)?.[1]
  // Names of three letters are many programs'.
  const isKnown =
    name.startsWith('free5gc-') || /free5gc/i.test(argv[0] ?? '') || /cfg[^/]*\.ya?ml$/.test(file ?? '')
  if (free5gc === undefined || !isKnown) return undefined
  return { core: 'core_b', role: free5gc, configFile: absolute(file ?? `config/${free5gc}cfg.yaml`, folder) }
}

function fileIn(argv: readonly string[]): string | undefined {
  for (const [at, word] of argv.entries()) {
    if (at > 0 && (word === '-c' || word === '--config')) return argv[at + 1]
    const joined = /^(?:--config=|-c)(.+)$/.exec(word)?.[1]
    if (at > 0 && joined !== undefined) return joined
  }
  return undefined
}

function absolute(path: string, folder: string | undefined): string | undefined {
  if (isAbsolute(path)) return path
  return folder === undefined ? undefined : join(folder, path)
}

export interface FoundDaemon {
  readonly core: FoundCore
  readonly role: string
  /** What runs it: restarts go there. */
  readonly runner: { readonly kind: 'unit' | 'container' | 'process'; readonly name: string }
  readonly isRunning: boolean
  readonly pid: number | undefined
  /** Its file as it sees it. */
  readonly configFile: string | undefined
  /** Its file as this service sees it; undefined where it does not. */
  readonly path: string | undefined
  /** Of its package or image, or of the library that it has loaded; undefined where nothing tells without starting it. */
  readonly version: string | undefined
  /** Why its file cannot be used as it is, and what to do. */
  readonly problem?: string
}
