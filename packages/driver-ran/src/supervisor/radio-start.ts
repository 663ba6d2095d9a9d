import { hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import {
  type Context,
  isServiceError,
  msFromDuration,
  type RadioProfile,
  type RadioRehearsal,
  type Settings,
  validationFailed,
} from '@steeple/contracts'
import { deviceName } from '../process/device-lock.ts'
import type { RadioCommand } from '../process/guard-script.ts'
import { requireLauncher } from '../process/preflight.ts'
import { coreAddressesOf, coreSlicesOf, isVirtualDevice, programOf } from '../render/radio-input.ts'
import { type RadioPlan, renderRadio } from '../render/render-radio.ts'
import type { DesiredRadio } from './desired-radio.ts'
import { readOverlays } from './radio-files.ts'

/** Of a lease that is none: the configuration's checks let none through, ms. */
const DEFAULT_LEASE_MS = 3_000

/** Everything that one start of a radio is made of. */
export interface RadioStart {
  readonly profileId: string
  readonly profile: RadioProfile
  /** Runs without an armed gate. */
  readonly isVirtual: boolean
  /** Its device is another program; it may come later than the radio. */
  readonly hasVirtualDevice: boolean
  readonly plan: RadioPlan
  readonly command: RadioCommand
  /** The container that it runs in, and where its engine is; undefined: a process of this machine. */
  readonly container: { readonly name: string; readonly socket: string } | undefined
  /** Name of the device for its lock. */
  readonly device: string
  /** Changes with everything that a start depends on: files, arguments, program. */
  readonly fingerprint: string
}

/** The files and arguments of a profile. Throws `validation_failed` with every reason why it must not be started. */
async function planOf(
  settings: Settings,
  profile: RadioProfile,
  directory: string,
  localAddresses: readonly string[],
): Promise<RadioPlan> {
  const { ran } = settings
  return renderRadio({
    plmn: settings.plmn,
    tac: settings.tac,
    profile,
    ran,
    coreAddresses: coreAddressesOf(settings),
    slices: coreSlicesOf(settings),
    overlays: await readOverlays(ran.template_dir, programOf(ran)),
    directory,
    localAddresses,
  })
}

/** The start that the configuration asks for now. Throws `validation_failed` with every reason why it must not be. */
export async function radioStart(
  { settings }: Pick<Context, 'settings'>,
  desired: Extract<DesiredRadio, { isOn: true }>,
  directory: string,
): Promise<RadioStart> {
  const { ran } = settings
  const plan = await planOf(settings, desired.profile, directory, ownAddresses())
  return {
    profileId: desired.profileId,
    profile: desired.profile,
    isVirtual: desired.isVirtual,
    hasVirtualDevice: isVirtualDevice(ran),
    plan,
    command: {
      program: programOf(ran),
      binary: ran.binary,
      args: plan.args,
      directory,
      cellId: ran.cell_id,
      leaseMs: msFromDuration(ran.lease) ?? DEFAULT_LEASE_MS,
    },
    container: ran.container === '' ? undefined : { name: ran.container, socket: settings.hss.engine_socket },
    device: deviceName(ran),
    fingerprint: digest([plan.rendered.sha256, await programState(ran)]),
  }
}

/** What a start of a profile does before the program runs, with nothing written and nothing started. */
export async function rehearsal(
  { settings }: Pick<Context, 'settings'>,
  profile: RadioProfile,
  directory: string,
  launcher: () => Promise<void> = requireLauncher,
): Promise<RadioRehearsal> {
  const { ran } = settings
  const plan = await tried(() => planOf(settings, profile, directory, ownAddresses()))
  const checks = [
    { check: 'configuration', ...plan },
    { check: 'program', ...(await tried(() => programState(ran))) },
    // A container has its own.
    ...(ran.container === '' ? [{ check: 'machine', ...(await tried(launcher)) }] : []),
  ]
  // The operator's own template is theirs to show.
  const files = [...(plan.result?.rendered.files ?? [])].filter(([name]) => name !== 'overlay.yml')
  return {
    program: ran.program,
    files: files.map(([name, text]) => ({ name, text })),
    checks: checks.map(({ check, problems }) => ({ check, problems })),
  }
}

/** What came of some work, or why it was refused. */
async function tried<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result?: Result; readonly problems: readonly string[] }> {
  try {
    return { result: await work(), problems: [] }
  } catch (error) {
    if (!isServiceError(error)) throw error
    const { details = [] } = error
    return { problems: details.length > 0 ? details.map(({ message }) => message) : [error.message] }
  }
}

/** Own IPv4 addresses without loopback, sorted. */
function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address)
    .sort()
}

/** Changes when another program is meant. What a container holds is not looked into. */
async function programState(ran: Settings['ran']): Promise<string> {
  return ran.container === '' ? await binaryState(ran.binary) : `container ${ran.container}`
}

/** Changes when the program is installed anew. Throws `validation_failed` when it is not there. */
async function binaryState(binary: string): Promise<string> {
  let found: Awaited<ReturnType<typeof stat>>
  try {
    found = await stat(binary)
  } catch (error) {
    throw validationFailed(`ran.binary ${binary} is not there or cannot be read`, { cause: error })
  }
  if (!found.isFile() || (found.mode & 0o111) === 0) {
    throw validationFailed(`ran.binary ${binary} is no executable file`)
  }
  if ((found.mode & 0o6000) !== 0) {
    throw validationFailed(
      `ran.binary ${binary} is set-user-ID or set-group-ID: it would outlive a service that dies. ` +
        'Give the service itself what the radio needs (see docs/how-to/radio.md)',
    )
  }
  return [found.ino, found.size, found.mtimeMs].join(':')
}

function digest(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts))
}
