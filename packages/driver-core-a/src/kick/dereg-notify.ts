import { type Imsi, southboundUnavailable } from '@steeple/contracts'
import { h2Request } from '../sbi/h2-request.ts'

/** Why a phone has to go. TS 29.503 §6.1.6.3.3: after the second it is told to register again. */
export type DeregReason = 'SUBSCRIPTION_WITHDRAWN' | 'REREGISTRATION_REQUIRED'
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
  deregReason: DeregReason,
  signal: AbortSignal,
): Promise<'accepted' | 'unknown'> {
  const path = `/namf-callback/v1/imsi-${imsi}/dereg-notify`
  // TS 29.503 §6.1.6.2.5 (DeregistrationData).
  const body = JSON.stringify({ deregReason, accessType: '3GPP_ACCESS' })
  const { status } = await h2Request('amf', origin, { method: 'POST', path, body }, signal)
  if (status === NO_CONTENT) return 'accepted'
  if (status === NOT_FOUND) return 'unknown'
  throw southboundUnavailable(`amf did not take a deregistration: it answered ${status}`)
}
