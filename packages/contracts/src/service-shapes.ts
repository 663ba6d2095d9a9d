import { coreDriverRef, hssDriverRef, ranDriverRef } from './drivers.ts'
import {
  bootstrapTokensRef,
  meshStandingRef,
  nodeCertificatesRef,
  nodeRegistryRef,
  operatorCertificatesRef,
} from './mesh-services.ts'
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
import { simIssuerRef, subscribersRef } from './sim-services.ts'
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
  nodeCertificatesRef,
  nodeRegistryRef,
  operatorCertificatesRef,
  policyRef,
  quotaKeeperRef,
  quotaWatchRef,
  ranDriverRef,
  simIssuerRef,
  subscribersRef,
  tokenMintRef,
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
