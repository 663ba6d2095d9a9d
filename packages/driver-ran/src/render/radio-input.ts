import { type RadioProfile, type Settings, sectionOf } from '@steeple/contracts'

/** The files of `ran.template_dir` that replace or extend rendered ones: name → content. */
export type Overlays = ReadonlyMap<string, string>

/** Everything that the radio's configuration is made of. */
export interface RadioInput {
  readonly plmn: { readonly mcc: string; readonly mnc: string }
  readonly tac: number
  readonly profile: RadioProfile
  readonly ran: Settings['ran']
  /** Addresses of the core by role: `mme`, `amf`. */
  readonly coreAddresses: Readonly<Record<string, string>>
  /** Slices that a gnb announces. */
  readonly slices: readonly { readonly sst: number; readonly sd?: string }[]
  readonly overlays: Overlays
  /** Absolute directory that the files will lie in. */
  readonly directory: string
  /** Every IPv4 address of this machine. Loopback (127.0.0.0/8) is always its own. */
  readonly localAddresses: readonly string[]
}

/** The program of a radio that is a process. */
export function programOf({ program }: Pick<Settings['ran'], 'program'>): 'srsenb' | 'gnb' {
  return program === 'gnb' ? 'gnb' : 'srsenb'
}

/** Where the core's MME listens when nothing else is configured: the core's own default. */
const DEFAULT_MME = '127.0.0.2'
/** Where the core's AMF listens when nothing else is configured: the core's own default. */
const DEFAULT_AMF = '127.0.0.5'
/** The same of free5GC. */
const DEFAULT_AMF_B = '127.0.0.18'

/** Address of MME or AMF, whichever the program talks to. */
export function coreAddress({ ran, coreAddresses }: RadioInput): string {
  return ran.program === 'srsenb'
    ? ran.mme_addr || (coreAddresses.mme ?? DEFAULT_MME)
    : ran.amf_addr || (coreAddresses.amf ?? DEFAULT_AMF)
}

/** Own address for user data. */
export function gtpAddress({ ran }: RadioInput): string {
  return ran.gtp_bind_addr || ran.bind_addr
}

/** Whether the device is the virtual radio that emits nothing: samples go over ZeroMQ. */
export function isVirtualDevice(ran: Pick<Settings['ran'], 'device_name' | 'device_args'>): boolean {
  return ran.device_name.toLowerCase() === 'zmq' && !ran.device_args.includes(';')
}

/**
 * Where the configured core listens for radios, by role: free5GC's AMF may do it at an address of its own, `n2`. Of another core
 * nothing is known: `ran.mme_addr` and `ran.amf_addr` tell.
 */
export function coreAddressesOf(settings: Settings): Readonly<Record<string, string>> {
  if (settings.core === 'core_a') return sectionOf(settings, 'core_a').addresses ?? {}
  if (settings.core !== 'core_b') return {}
  const { amf = DEFAULT_AMF_B, n2 = amf } = sectionOf(settings, 'core_b').addresses ?? {}
  return { amf: n2 }
}

/** The slices of the configured core; of one that is not known the stock one. */
export function coreSlicesOf(settings: Settings): Settings['core_a']['slices'] {
  const { core } = settings
  const known = core === 'core_a' || core === 'core_b' ? sectionOf(settings, core).slices : undefined
  return known ?? [{ sst: 1 }]
}
