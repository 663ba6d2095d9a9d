import { coreDriverRef, hssDriverRef, ranDriverRef } from './drivers.ts'
import {
  bootstrapTokensRef,
  meshStandingRef,
  nodeCertificatesRef,
  nodeRegistryRef,
  operatorCertificatesRef,
} from './mesh-services.ts'
import { moveRecorderRef } from './move-recorder.ts'
import { policyHistoryRef } from './policy-history.ts'
import type { ServiceRef } from './service-ref.ts'
import {
  authenticatorRef,
  lifecycleRef,
  policyRef,
  quotaKeeperRef,
  tokenMintRef,
  transmitterRef,
  txGateRef,
} from './services.ts'
import { sessionHistoryRef } from './session-history.ts'
import { simRegisterRef } from './sim-register.ts'
import { simIssuerRef, subscribersRef } from './sim-services.ts'
import { tracerRef } from './tracing.ts'
import { collectionConsumerRef, collectorRef, usageLedgerRef, usageListenerRef } from './usage.ts'
import { agentWatchRef, quotaWatchRef } from './watch-services.ts'

const REFS: readonly ServiceRef<object>[] = [
  agentWatchRef,
  authenticatorRef,
  bootstrapTokensRef,
  collectionConsumerRef,
  coreDriverRef,
  hssDriverRef,
  lifecycleRef,
  meshStandingRef,
  moveRecorderRef,
  nodeCertificatesRef,
  nodeRegistryRef,
  operatorCertificatesRef,
  policyHistoryRef,
  policyRef,
  quotaKeeperRef,
  quotaWatchRef,
  ranDriverRef,
  sessionHistoryRef,
  simIssuerRef,
  simRegisterRef,
  subscribersRef,
  tokenMintRef,
  tracerRef,
  transmitterRef,
  txGateRef,
  usageLedgerRef,
  usageListenerRef,
]

/** The shape of a service that plugins provide, by its id; undefined for one that these contracts do not name. */
export function shapeOf(serviceId: string): ServiceRef<object>['shape'] {
  const ref = serviceId.startsWith('collector.') ? collectorRef('') : REFS.find(({ id }) => id === serviceId)
  return ref?.shape
}
