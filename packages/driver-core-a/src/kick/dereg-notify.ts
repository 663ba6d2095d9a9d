import { type Imsi, southboundUnavailable } from '@steeple/contracts'
import { h2Request } from '../sbi/h2-request.ts'

/** TS 29.503 §6.1.6.2.5 (DeregistrationData). */
const BODY = JSON.stringify({ deregReason: 'SUBSCRIPTION_WITHDRAWN', accessType: '3GPP_ACCESS' })
const NO_CONTENT = 204
const NOT_FOUND = 404

/**
 * Has the AMF deregister a phone, as a UDM would. `unknown`: the AMF has no such phone.
 *
 * Throws `southbound_unavailable` or the signal's reason, without the IMSI. Source: TS 29.503 §5.3.2.3.2.
 */
export async function deregNotify(
  origin: string,
  imsi: Imsi,
  signal: AbortSignal,
): Promise<'accepted' | 'unknown'> {
  const path = `/namf-callback/v1/imsi-${imsi}/dereg-notify`
  const { status } = await h2Request('amf', origin, { method: 'POST', path, body: BODY }, signal)
  if (status === NO_CONTENT) return 'accepted'
  if (status === NOT_FOUND) return 'unknown'
  throw southboundUnavailable(`amf did not take a deregistration: it answered ${status}`)
}
