import type { PeoplePlace, PersonWish } from '@steeple/access/offline'
import { type AuditTrail, type Reply, systemPrincipal } from '@steeple/contracts'
import {
  acceptStoreLoss,
  offlineTables,
  permitNewStore,
  rotateVaultAudited,
  systemClock,
} from '@steeple/kernel'
import { initNode } from '@steeple/secrets'
import type { CardFormat } from '@steeple/sims/offline'
import type { Json } from '../client/service.ts'
import { failure } from '../command-error.ts'
import { pluginPackages } from '../composition/plugin-packages.ts'
import { writeDisarmNote } from '../disarm-note.ts'
import { jsonText } from '../output/print.ts'
import { type PlaceOptions, pluginsDirOf } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere, withStore } from './own-store.ts'

/** `svc node init`: says what was made, where, and how to make the first credential. Never a key. */
export async function initNodeHere(
  terminal: Terminal,
  options: PlaceOptions & { readonly name?: string; readonly json?: boolean },
): Promise<void> {
  const { fileOfStore } = await import('@steeple/kernel')
  const settings = await settledHere(terminal, options, true)
  const { isNew, message, secrets } = await initNode({
    dataDir: settings.server.data_dir,
    ...(options.name === undefined ? {} : { name: options.name }),
    clock: systemClock(),
    storeFile: fileOfStore(settings),
  })
  const { nodeId, name, caSha256, certificateExpiresAtMs } = secrets.identity
  if (options.json === true) {
    const certificate_expires_at = new Date(certificateExpiresAtMs).toISOString()
    terminal.out(
      jsonText({
        created: isNew,
        node_id: nodeId,
        name,
        keys_dir: secrets.directory,
        ca_sha256: caSha256,
        certificate_expires_at,
      }),
    )
    return
  }
  terminal.out(`${message}\n`)
  if (isNew) terminal.out(firstCredential(settings.auth.admin_token_env))
}

function firstCredential(variable: string): string {
  return `
There is no credential yet. Make the first one:
  export ${variable}=$(openssl rand -hex 32)     # the admin token of this run; it is stored nowhere
  svc serve &                                        # the service, with the same flags
  svc user add my-name --role admin                  # a person: password, code for the app, recovery codes, shown once
  svc token create my-tool --role admin              # or a token that stays; it is shown once

Without that variable, once the service has run and while it does not:  svc user add my-name --role admin --offline
`
}

/**
 * `svc vault rotate`: seals everything under a new key while no service runs on this data directory.
 *
 * Broken off, the next run goes on where it ended. Throws `data_dir_in_use`; `vault_keys_kept` when a replaced key had
 * to stay because values still name it.
 */
export async function rotateVaultHere(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  await withStore(terminal, settings, 'exclusive', async (store) => {
    const tables = await offlineTables({
      packages: pluginPackages(),
      pluginsDir: pluginsDirOf(settings),
      policy: () => settings.plugins,
    })
    // Nothing else seals here, so there is nothing to wait for.
    const report = await rotateVaultAudited({
      db: store.db,
      vault: store.vault,
      mutations: store.mutations(),
      principal: systemPrincipal('svc vault rotate'),
      tables,
      settle: async () => {},
    })
    const { keyId, resealed, retired, kept } = report
    if (options.json === true) terminal.out(jsonText({ key_id: keyId, resealed, retired, kept }))
    else
      terminal.out(
        `key ${keyId} is in use; ${resealed} values sealed again, ${retired.length} old keys removed\n`,
      )
    if (kept.length > 0)
      throw failure('vault_keys_kept', 'replaced keys had to stay', {
        details: kept.map((message) => ({ pointer: '', message })),
        hint: 'run svc vault rotate again when that is put right; nothing is lost meanwhile',
      })
  })
}

/** `svc store new`: lets the next start begin with an empty store. Throws `store_invalid` while there is one. */
export async function permitNewStoreHere(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  const store = permitNewStore(settings)
  if (options.json === true) terminal.out(jsonText({ store, permitted: true }))
  else
    terminal.out(
      `the next start makes a new, empty store in ${store}; it has no SIMs and tokens, and its audit trail starts again\n`,
    )
}

/**
 * `svc store accept`: has the next start go on without answered commits that the store lacks; the audit trail says so. TX is
 * disarmed, since what disarmed it may be lost. Throws
 * `store_invalid` when nothing is known to be lost, `data_dir_in_use`.
 */
export async function acceptStoreHere(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  const by = systemPrincipal('svc store')
  const disarm = async (): Promise<void> =>
    void (await writeDisarmNote(settings.server.data_dir, `${by.kind}:${by.id}`))
  const lost = await acceptStoreLoss(settings, systemClock(), disarm)
  await withStore(terminal, settings, 'exclusive', async (store, secrets) => {
    await store.mutations().run({
      principal: by,
      action: 'store.accept',
      target: secrets.identity.nodeId,
      owner: 'kernel',
      work: async (tx) => {
        tx.audit({ detail: { lost } })
        return { status: 200 }
      },
    })
  })
  if (options.json === true) terminal.out(jsonText({ accepted: true, lost }))
  else
    terminal.out(`${lost}; the next start goes on without, with TX disarmed, and the audit trail says so\n`)
}

/** `svc audit verify`: reads the store of this machine, beside a running service too; exit code 1 when it is broken. */
export async function verifyAudit(
  terminal: Terminal,
  options: PlaceOptions & { readonly json?: boolean },
): Promise<void> {
  const settings = await settledHere(terminal, options)
  await withStore(terminal, settings, 'read', async (store) => {
    const { ok, checked, firstBroken, reason } = await store.audit.verify()
    if (options.json === true)
      terminal.out(jsonText({ ok, checked, first_broken: firstBroken ?? null, reason: reason ?? null }))
    else if (ok) terminal.out(`ok: ${checked} entries, the chain is whole\n${await beginningOf(store.audit)}`)
    else terminal.err(`${brokenAt(firstBroken)}: ${reason ?? 'the chain does not fit'}\n`)
    if (!ok) terminal.answer(1)
  })
}

function brokenAt(seq: number | undefined): string {
  return seq === undefined ? 'broken' : `broken at entry ${seq}`
}

/** A line about a trail that began on a node which had one before; empty for any other. */
async function beginningOf(audit: AuditTrail): Promise<string> {
  const [entry] = await audit.list({ action: 'audit.begin' }, 1, undefined)
  if (entry?.seq !== 1) return ''
  const { earlier_trails: count } = entry.detail
  return `it began anew at ${new Date(entry.atMs).toISOString()}; earlier trails of this node: ${count}\n`
}

/** `svc sim export`: unseals the cards of a batch of this machine to standard output, beside a running service too. */
export async function exportBatch(
  terminal: Terminal,
  batchId: string,
  options: PlaceOptions & { readonly format: CardFormat },
): Promise<void> {
  const { homeKeysOf, unsealBatch } = await import('@steeple/sims/offline')
  const settings = await settledHere(terminal, options)
  await withStore(terminal, settings, 'read', async (store) => {
    const homeKeys = homeKeysOf(settings)
    const place = { reader: store.db, vault: store.vault, dataDir: settings.server.data_dir, homeKeys }
    terminal.out(await unsealBatch(place, batchId, options.format))
    if (options.format === 'json' && homeKeys.size === 0)
      terminal.err(
        `Without ef_suci_calc_info: the UDM is given no home network key (core is ${settings.core}).\n`,
      )
    terminal.err('These lines hold the keys of the cards. Keep them nowhere but in the card writer.\n')
  })
}

/** `svc user add NAME --offline`: adds a person while no service runs here. Throws `data_dir_in_use`, `user_exists`. */
export async function addPersonHere(
  terminal: Terminal,
  options: PlaceOptions,
  wish: PersonWish,
): Promise<Json> {
  const { addPerson } = await import('@steeple/access/offline')
  return changeHere(terminal, options, (place) => addPerson(place, wish))
}

/** `svc user reset NAME --offline`: other credentials while no service runs here. Throws `data_dir_in_use`, `user_not_found`. */
export async function resetPersonHere(
  terminal: Terminal,
  options: PlaceOptions,
  name: string,
): Promise<Json> {
  const { resetPerson } = await import('@steeple/access/offline')
  return changeHere(terminal, options, (place) => resetPerson(place, name))
}

async function changeHere(
  terminal: Terminal,
  options: PlaceOptions,
  change: (place: PeoplePlace) => Promise<Reply>,
): Promise<Json> {
  const settings = await settledHere(terminal, options)
  return await withStore(terminal, settings, 'exclusive', async (store, secrets) => {
    const principal = systemPrincipal('svc user')
    const mutations = store.mutations()
    const { body } = await change({
      reader: store.db,
      vault: store.vault,
      clock: systemClock(),
      identity: secrets.identity,
      principal,
      mutate: async (action, target, work) =>
        (await mutations.run({ principal, action, target, owner: 'access', work })).reply,
    })
    // Both answer the record of a user.
    return body as Json
  })
}
