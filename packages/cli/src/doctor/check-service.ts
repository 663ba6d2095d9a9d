import { connect, isObject, type Json } from '../client/rest-client.ts'
import { CommandError } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'
import { type Check, doubtful, broken as failed, healthy } from './check.ts'

/** What to do about a part of the service that is not well, by its kind. */
const REMEDIES: Readonly<Record<string, string>> = {
  core: 'start the core, or correct where it is (core_a.*, core_b.*, collector.*)',
  hss: 'start the subscriber database, or correct hss.*; what waits is pushed when it answers',
  ran: 'see docs/how-to/radio.md; svc tx status says what the gate asks',
  store: 'see the log of the service; restore the newest backup if the store is damaged',
  collector: 'start what it collects from, or correct collector.*',
}

/** The component that names plugins whose signature is not believed. */
const TRUST = 'plugins.trust'

/**
 * What the service that runs at `url` says of itself. `url` is where the doctor has just found it; `ca` the file of the CA
 * that its certificate is from, where it speaks TLS: nobody else is told a token.
 */
export async function checkService(
  terminal: Terminal,
  url: string,
  ca: string | undefined,
): Promise<readonly Check[]> {
  try {
    const { body } = await connect(terminal, { url, ...(ca === undefined ? {} : { ca }) }).get('/v1/health')
    const parts = Array.isArray(body.components) ? body.components.filter(isObject) : []
    const unsigned = parts.filter(({ name }) => name === TRUST).map(unbelieved)
    const ill = parts.filter(({ name, status }) => name !== TRUST && status !== 'ok')
    if (ill.length === 0)
      return [healthy('service', `${parts.length - unsigned.length} components are well`), ...unsigned]
    return [...ill.map(illness), ...unsigned]
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const isLocked = error.code === 'unauthenticated' || error.code === 'forbidden'
    const remedy = isLocked
      ? 'set SVC_TOKEN to a token with the role viewer: what runs knows best what is wrong with it'
      : 'see the log of the service'
    return [doubtful('service', `it was not asked how it is: ${error.message}`, remedy)]
  }
}

/** It runs, with all rights of the service. */
function unbelieved({ detail }: Json): Check {
  const remedy = 'sign it (svc plugin pack) and name the key in plugins.trust, or svc plugin uninstall it'
  return doubtful('plugins', String(detail), remedy)
}

function illness({ name, kind, status, detail }: Json): Check {
  const remedy = REMEDIES[String(kind)] ?? 'see the log of the service, and docs/'
  return failed('service', `${String(name)} is ${String(status)}: ${String(detail)}`, remedy)
}
