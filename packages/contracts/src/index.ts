export { type Backoff, backoffMs } from './backoff.ts'
export { changeTag, namesTag, refuseStale } from './change-tag.ts'
export { type ClosedItem, type ClosedItems, type ClosedKind, closedItemsRef } from './closed-items.ts'
export {
  ADMIN_TOKEN_VARIABLE,
  type Apply,
  DEFAULT_METRICS_ALLOW,
  type EnvOverride,
  SERVICE_CONFIG,
  SERVICE_METRICS,
} from './config-schema.ts'
export { type DrawnKeyPlace, drawnKey } from './drawn-key.ts'
export {
  type BatchResult,
  type CoreApplied,
  type CoreAttaches,
  type CoreDesired,
  type CoreDriver,
  type CoreObserved,
  type CorePlan,
  type CoreRestored,
  coreDriverRef,
  type HssDriver,
  hssDriverRef,
  type Imsi,
  type ImsiHash,
  type ObservedUe,
  type PlannedDaemon,
  type PlannedFile,
  type RanDriver,
  type RanObserved,
  type Rendered,
  ranDriverRef,
  type Subscriber,
  type SubscriberDifference,
  type SubscriberObserved,
  type UeAttempt,
  type UeDiagnosis,
  type UeRefusal,
} from './drivers.ts'
export { DURATION_PATTERN, msFromDuration } from './duration.ts'
export {
  backupDecryptFailed,
  backupInvalid,
  backupVersionUnsupported,
  bodyTooLarge,
  bootstrapTokenInvalid,
  capacityExceeded,
  certificateRevoked,
  configInvalid,
  coreConfigRefused,
  dataDirInUse,
  ERROR_CATALOGUE,
  esimCodeNotFound,
  esimDisabled,
  featureNotInstalled,
  forbidden,
  headersTooLarge,
  idempotencyInProgress,
  idempotencyKeyReused,
  internal,
  invalidCursor,
  invalidLimit,
  invalidTransition,
  loginFailed,
  malformedJson,
  methodNotAllowed,
  nodeNotFound,
  nodeStateConflict,
  notFound,
  notReady,
  peerExists,
  peerNotFound,
  plmnMismatch,
  pluginDependencyMissing,
  pluginFailed,
  pluginNotFound,
  pluginStateConflict,
  policyConflict,
  rateLimited,
  requestTimeout,
  secretsInvalid,
  settingsFixed,
  simExists,
  simNotFound,
  simStateConflict,
  simSwapCooldown,
  southboundUnavailable,
  staleChange,
  storeCorrupt,
  storeInvalid,
  storeUnavailable,
  tokenExpired,
  tokenNotFound,
  txGateClosed,
  txNotArmed,
  unauthenticated,
  unsupportedMediaType,
  userNotFound,
  validationFailed,
} from './error-catalogue.ts'
export {
  defineError,
  type ErrorDetail,
  type ErrorExtra,
  type ErrorFactory,
  isServiceError,
  ServiceError,
} from './errors.ts'
export { freeOctets } from './free-octets.ts'
export { localHostName, type Reach, reachOf } from './hosts.ts'
export { jsonBody, jsonTextOf } from './json-body.ts'
export {
  type JsonSchema,
  NAME_PATTERN,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  PAGE_QUERY,
  PLAIN_TEXT_PATTERN,
  pageSchema,
  TIMESTAMP_SCHEMA,
} from './json-schema.ts'
export { type KnownRows, knownRows } from './known-rows.ts'
export {
  type BootstrapTokens,
  bootstrapTokensRef,
  type CertificateHolders,
  type CertificateWish,
  type ClientCertificate,
  type IssuedCertificate,
  MESH_SERVER_NAME,
  type MeshAuthority,
  type MeshIdentity,
  type MeshMembership,
  type MeshStanding,
  meshAuthorityRef,
  meshIdentityRef,
  meshStandingRef,
  type NodeRegistry,
  nodeCertificatesRef,
  nodeRegistryRef,
  operatorCertificatesRef,
  type Revocation,
} from './mesh-services.ts'
export { type MoveRecorder, moveRecorderRef, type RecordedSimMove } from './move-recorder.ts'
export {
  type CapturedState,
  type NodeState,
  nodeStateRef,
  type RestoreOrder,
  type StagedFindings,
  type StagedState,
  type StateFacts,
  type StateFile,
} from './node-state.ts'
export {
  atTurnEnd,
  createPause,
  createTurns,
  eachPaced,
  type Pause,
  restAfter,
  type Turns,
  untilAborted,
} from './pause.ts'
export {
  type Clock,
  type ComponentHealth,
  type Context,
  type ErrorCode,
  type Instance,
  type Labels,
  type Log,
  type Manifest,
  type Metrics,
  ok,
  type PathGroup,
  type Plugin,
  type PluginKind,
  type StateEvent,
} from './plugin.ts'
export {
  type AllowListEntry,
  DEFAULT_RATE_LIMITS,
  type PolicyBundle,
  type RadioProfile,
  type SpectrumLicense,
  type Technology,
} from './policy.ts'
export { type PolicyHistory, policyHistoryRef } from './policy-history.ts'
export type { Outcome, Reconciler, RunsOn } from './reconciler.ts'
export type { PolicyRevision, RecordedSession, TimeSpan, TxInterval } from './record-types.ts'
export { createRefusalTrail, type Refusal, type RefusalTrail } from './refusal-trail.ts'
export {
  type Access,
  expandRoles,
  type Principal,
  ROLE_INCLUDES,
  ROLES,
  type Role,
  systemPrincipal,
} from './roles.ts'
export {
  type MutatingRoute,
  type Page,
  type ReadRoute,
  type Reply,
  type Request,
  type Route,
  route,
} from './route.ts'
export type { KnownRow } from './row-memory.ts'
export { type RowStep, rowStep } from './row-step.ts'
export { hasValidSum, rowSum } from './row-sum.ts'
export { type ServiceRef, type ServiceShape, serviceRef, shapeProblem } from './service-ref.ts'
export { shapeOf } from './service-shapes.ts'
export {
  type AuditEntry,
  type AuditFilter,
  type AuditTrail,
  type AuthenticatedPrincipal,
  type Authenticator,
  auditTrailRef,
  authenticatorRef,
  type CarrierRequest,
  type ClockJudge,
  type ComponentState,
  clockJudgeRef,
  type HealthBoard,
  healthBoardRef,
  type InstanceView,
  type Lifecycle,
  type LifecycleState,
  lifecycleRef,
  type NodeIdentity,
  nodeIdentityRef,
  type PolicyReader,
  policyRef,
  type QuotaKeeper,
  quotaKeeperRef,
  type SealedColumns,
  type ServiceInfo,
  type SessionKeys,
  serviceInfoRef,
  sessionKeysRef,
  type TokenMint,
  type Transmitter,
  type TxGate,
  type TxGateState,
  tokenMintRef,
  transmitterRef,
  txGateRef,
  type Vault,
  vaultRef,
} from './services.ts'
export { type SessionHistory, sessionHistoryRef } from './session-history.ts'
export { type AlertRule, type AlertWebhook, type Settings, sectionOf } from './settings.ts'
export { type SimRegister, simRegisterRef } from './sim-register.ts'
export {
  type OpenableSim,
  type PreparedSims,
  type SimCard,
  type SimCredentials,
  type SimIssuer,
  type SubscriberMove,
  type SubscriberMoves,
  type SubscriberState,
  type Subscribers,
  type SubscriberView,
  type SuspensionReason,
  simIssuerRef,
  subscribersRef,
} from './sim-services.ts'
export { type StateChange, type StateTeller, stateNews, stateTeller } from './state-teller.ts'
export { type StaticFiles, staticRoutes } from './static-files.ts'
export type { Db, Migration, MutationTx, ObservedTx, Reader, SqlParams, SqlValue, Tx } from './store.ts'
export {
  type Introspection,
  introspectionRef,
  type LogControl,
  type LogLevel,
  type LogLevelHold,
  logControlRef,
  type PluginStanding,
} from './support-services.ts'
export { defineTable, type Table, type TableSpec } from './table.ts'
export { type TableView, withoutOctets } from './table-view.ts'
export { msFromTimestamp, timestampFromMs, timestampOrNull } from './timestamp.ts'
export { type Span, type SpanFacts, type TraceParent, type Tracer, tracerRef } from './tracing.ts'
export {
  type Collection,
  type CollectionConsumer,
  type Collector,
  collectionConsumerRef,
  collectorRef,
  NOTHING_COLLECTED,
  type SessionSighting,
  sumOctets,
  type UsageIncrement,
  type UsageLedger,
  type UsageListener,
  type UsageTotals,
  usageLedgerRef,
  usageListenerRef,
  type Volume,
  type VolumeKey,
} from './usage.ts'
export {
  type AgentView,
  type AgentWatch,
  agentWatchRef,
  type MetricReading,
  type MetricSample,
  type MetricsReader,
  metricsReaderRef,
  type QuotaEdges,
  type QuotaWatch,
  quotaWatchRef,
} from './watch-services.ts'
