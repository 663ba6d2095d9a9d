import type { Es9 } from '../es9/es9.ts'
import { ES9_FUNCTIONS, type Es9Function } from '../es9/metrics.ts'
import { networkOf } from '../es9/peers.ts'
import type { EsimParts } from '../parts.ts'
import type { Handler } from './exchange.ts'
import { type KeptListener, keptListener } from './kept-listener.ts'

/** What LPAs call, and the same without the prefix. Facts section 0. */
const PREFIXES = ['/gsma/rsp2/es9plus', '/es9plus'] as const

/** ES9+ with TLS for phones, at `esim.listen`; none while eSIM is off. SGP.22 §2.6.6. */
export function phoneListener({ context, certs }: EsimParts, es9: Es9): KeptListener {
  const handlerOf = (name: Es9Function): Handler => {
    return async ({ octets, peerAddress }) => await es9.call(name, octets, networkOf(peerAddress))
  }
  return keptListener({
    context,
    key: 'esim.listen',
    address: context.config.enabled ? context.config.listen : '',
    material: certs.tls,
    handlers: new Map(
      PREFIXES.flatMap((prefix) => ES9_FUNCTIONS.map((name) => [`${prefix}/${name}`, handlerOf(name)])),
    ),
  })
}
