import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ROOT } from './launch.ts'
import { exportedCards } from './service.ts'

const FOLDER = join(ROOT, 'lab/lab-core/dist')
/** The tool of the core that writes its subscribers, as `hss.dbctl_path` takes it. */
export const DBCTL: string = join(FOLDER, 'open5gs-dbctl.js')
/** Flags that let it listen wherever there is room. */
export const ANY_PORTS: readonly string[] = [
  'mme',
  'smf',
  'upf',
  'hss',
  'pcrf',
  'enb',
  'sgwu',
  'control',
].flatMap((place) => [`--${place}`, '127.0.0.1:0'])

/** A phone as the lab core shows it. */
export interface LabPhone {
  readonly phone: string
  readonly state: string
  readonly problem: string | null
  readonly ipv4: string | null
  readonly up_bytes: number
  readonly down_bytes: number
  /** What the phone has moved since the lab core began: the truth of every count. */
  readonly total: { readonly up_bytes: number; readonly down_bytes: number }
}

/** A lab core of its own, beside a service under test. */
export interface LabProcess {
  readonly urls: { readonly mme: string; readonly smf: string; readonly control: string }
  /** What a service needs to use it, as `npm start` sets it. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
  /** SIGKILL and wait. */
  kill(): Promise<void>
}

/** Starts a lab core, on free ports without other flags; its store is in `directory`. `inside`: arguments before its command. */
export async function startLabCore(
  directory: string,
  flags: readonly string[] = ANY_PORTS,
  inside: readonly string[] = [],
): Promise<LabProcess> {
  const program = [process.execPath, join(FOLDER, 'main.js'), 'serve', '--dir', directory, ...flags]
  const [file = '', ...args] = [...inside, ...program]
  const child: ChildProcess = spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  const [told] = (await once(child, 'message')) as [Pick<LabProcess, 'urls'> & { problem?: string }]
  if (told.problem !== undefined) throw new Error(`no lab core: ${told.problem}`)
  const { urls } = told
  return {
    urls,
    env: {
      SVC_HSS_DRIVER: 'dbctl',
      SVC_HSS_DBCTL_PATH: DBCTL,
      // For the core's driver, and for the collector in builds without it.
      SVC_CORE_A_MME_URL: urls.mme,
      SVC_CORE_A_SMF_URL: urls.smf,
      SVC_COLLECTOR_MME_URL: urls.mme,
      SVC_COLLECTOR_SMF_URL: urls.smf,
      LAB_CORE_DIR: directory,
    },
    stop: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The phones of a lab core after a request to its control API. */
export async function labPhones(
  control: string,
  method: 'GET' | 'POST' = 'GET',
  path = '/phones',
  body?: string,
): Promise<readonly LabPhone[]> {
  const response = await fetch(control + path, body === undefined ? { method } : { method, body })
  const answer = (await response.json()) as { phones?: readonly LabPhone[]; error?: string } | LabPhone
  if ('phone' in answer) return [answer]
  if (answer.phones === undefined) throw new Error(`${path}: ${response.status} ${answer.error}`)
  return answer.phones
}

/** Puts the cards of a batch into phones of a lab core, and gives them: JSON. */
export async function insertBatch(
  { env, urls }: LabProcess,
  dataDir: string,
  batch: string,
): Promise<string> {
  const cards = await exportedCards(dataDir, batch, env)
  await labPhones(urls.control, 'POST', '/phones', cards)
  return cards
}
