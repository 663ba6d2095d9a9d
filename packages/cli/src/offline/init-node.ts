import { systemClock } from '@steeple/kernel'
import { initNode } from '@steeple/secrets'
import { jsonText } from '../output/print.ts'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { settledHere } from './settled-here.ts'

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
