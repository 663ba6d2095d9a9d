import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Context, Plugin } from '@steeple/contracts'
import {
  bodyOf,
  loadTestbed,
  pluginFrom,
  type Testbed,
  type TestbedOptions,
  type TestResponse,
} from '@steeple/testkit'
import type { EsimConfig } from '../../src/config.ts'
import type { CertStore, ProfileTemplate, RspIdentity } from '../../src/parts.ts'
import { esimPlugin, type OwnParts } from '../../src/plugin.ts'

/** What is issued, as a test reads it. */
export interface Issued {
  readonly token: string
  readonly activation_code: string
  readonly imsi_sha256_12: string
  readonly state: string
  readonly confirmation_required: boolean
  readonly expires_at: string
  readonly iccid_last4: string
  readonly eid_last4: string | null
  readonly batch_id: string | null
  readonly codes?: readonly Issued[]
  readonly remaining?: number
}

/** A code record, as a test reads it. */
export interface CodeBody {
  readonly token: string
  readonly imsi_sha256_12: string
  readonly state: string
  readonly created_at: string
  readonly expires_at: string
  readonly downloads: number
  readonly eid_last4: string | null
  readonly iccid_last4: string
  readonly confirmation_required: boolean
  readonly batch_id: string | null
  readonly last_error: string | null
  readonly profile: { readonly state: string } | null
}

/** A set of certificates that nobody will look at, and a template that makes nothing. */
export function standIns(): Required<OwnParts> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const part = { der: new Uint8Array(), key }
  const one: RspIdentity = {
    id: '00',
    ciPkid: '00',
    authority: 'own',
    curve: 'P-256',
    ci: new Uint8Array(),
    auth: part,
    pb: part,
    owner: '2.999.10',
    ownerOctets: new Uint8Array(),
  }
  const certs: CertStore = {
    identities: () => [one],
    identity: () => one,
    identitiesHeld: () => [one],
    isRevoked: () => false,
    tls: () => undefined,
    reload: async () => undefined,
  }
  const template: ProfileTemplate = { personalise: () => new Uint8Array(), needs: [] }
  return { certs, template: () => template }
}

/** SIMs as the service has them: the built plugin. */
export async function simsPlugin(): Promise<{ readonly dir: string }> {
  const dir = new URL('../../../sims', import.meta.url).pathname
  await readFile(`${dir}/dist/plugin.js`)
  return { dir }
}

const contexts = new WeakMap<Testbed, Context>()

/** What the plugin of a testbed was given at setup. */
export function contextOf(bed: Testbed): Context {
  const context = contexts.get(bed)
  if (context === undefined) throw new Error('the testbed has no eSIM')
  return context
}

/** A testbed with SIMs and eSIM, which is on. */
export async function startBed(
  esimConfig: Readonly<Record<string, unknown>> = {},
  options: Partial<TestbedOptions> = {},
  own: OwnParts = standIns(),
): Promise<Testbed> {
  const { startTestbed } = await loadTestbed()
  let given: Context | undefined
  const plugin = esimPlugin(own)
  const watched: Plugin<EsimConfig> = {
    ...plugin,
    setup: async (context) => {
      given = context
      return await plugin.setup(context)
    },
  }
  const bed = await startTestbed({
    ...options,
    plugins: [
      await simsPlugin(),
      await pluginFrom(new URL('../x.test.ts', import.meta.url).href, watched),
      ...(options.plugins ?? []),
    ],
    config: { esim: { enabled: true, smdp_address: 'smdp.example.org', ...esimConfig }, ...options.config },
  })
  if (given !== undefined) contexts.set(bed, given)
  return bed
}

/** The error of an answer with that status. */
export function errorOf(
  response: TestResponse,
  status: number,
): { readonly code: string; readonly message: string } {
  return bodyOf<{ readonly error: { readonly code: string; readonly message: string } }>(response, status)
    .error
}

/** Issues, and gives the answer of success. */
export async function issue(
  bed: Testbed,
  body: object,
  headers: Record<string, string> = {},
): Promise<Issued> {
  return bodyOf<Issued>(await bed.request('POST', '/v1/esim/issue', { body, headers }), 201)
}

export async function code(bed: Testbed, token: string): Promise<CodeBody> {
  return bodyOf<CodeBody>(await bed.request('GET', `/v1/esim/codes/${token}`))
}
