import type { Rendered } from '@steeple/contracts'
import type { Daemon } from '@steeple/southbound'
import { FUNCTIONS, functionOfFile, type NetworkFunction } from './functions.ts'

/** Functions whose restart ends every connection or session. */
const DROPPING: readonly NetworkFunction[] = ['nrf', 'upf', 'smf', 'amf']

/**
 * The functions that a rendered set needs, in the order of their restarts.
 *
 * There is no reload. The NRF drops every profile when it ends and nobody registers a second time by himself, so all
 * others restart after it. An SMF keeps sessions that a restarted UPF has lost, and AMF and SMF keep each other's: a
 * phone that a restarted AMF has forgotten could not be cut off at the SMF any more. So the two restart together.
 */
export function daemonsOf({ files }: Rendered): readonly Omit<Daemon, 'container'>[] {
  return FUNCTIONS.flatMap((nf) => {
    const own = [...files.keys()].filter((path) => functionOfFile(path) === nf)
    if (own.length === 0) return []
    const drops = DROPPING.includes(nf) ? 'nr' : 'none'
    return [{ name: nf, files: own, drops, restartsAfter: leadersOf(nf) } as const]
  })
}

function leadersOf(nf: NetworkFunction): readonly NetworkFunction[] {
  // The UPF knows no NRF.
  if (nf === 'nrf' || nf === 'upf') return []
  if (nf === 'smf') return ['nrf', 'upf', 'amf']
  return nf === 'amf' ? ['nrf', 'smf'] : ['nrf']
}
