import type { Handler } from '../listen/exchange.ts'
import { type KeptListener, keptListener } from '../listen/kept-listener.ts'
import type { EsimParts } from '../parts.ts'
import { callerOf } from './caller.ts'
import type { Es2 } from './es2.ts'
import { ES2_FUNCTIONS, type Es2FunctionName } from './metrics.ts'

const PREFIX = '/gsma/rsp2/es2plus'
/** In every answer. Facts section 1.1. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'x-admin-protocol': 'gsma/rsp/v2.5.0',
}

/** ES2+ with mutual TLS for order systems, at `esim.es2.listen`; none while eSIM is off. SGP.22 §6.5.1. */
export function es2Listener({ context, certs }: EsimParts, es2: Es2): KeptListener {
  const { enabled, es2: config } = context.config
  const handlerOf = (name: Es2FunctionName): Handler => {
    return async ({ octets, client }) => {
      // A connection may outlive its certificate, and so may what TLS remembers of one.
      if (client === undefined || client.notAfterMs <= context.clock.nowMs())
        return { status: 403, headers: { connection: 'close' } }
      const { status, body } = await es2.call(name, octets, callerOf(client))
      return { status, headers: status === 429 ? { ...HEADERS, 'retry-after': '5' } : HEADERS, body }
    }
  }
  return keptListener({
    context,
    key: 'esim.es2.listen',
    address: enabled ? config.listen : '',
    clientCaFile: config.client_ca,
    material: certs.tls,
    handlers: new Map(ES2_FUNCTIONS.map((name) => [`${PREFIX}/${name}`, handlerOf(name)])),
  })
}
