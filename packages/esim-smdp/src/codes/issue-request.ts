import type { MutationTx, Request, SimCard, SimCredentials } from '@steeple/contracts'
import type { EsimIssueBody } from './issue-body.ts'

/** A request of `POST /v1/esim/issue`. */
export type IssueRequest = Request<unknown, unknown, EsimIssueBody | undefined>

/** SIMs that get a code, and what goes with it into the transaction. */
export interface Candidates {
  /** What the audit entry is about: a SIM, or a batch. */
  readonly target: string
  readonly cards: readonly SimCard[]
  credentials(card: SimCard): Promise<SimCredentials>
  /** Makes SIMs that are new durable, and says what the audit is to say of that. */
  issueIn?(tx: MutationTx): Promise<Readonly<Record<string, unknown>>>
  /** SIMs of a batch that still have none after this request. */
  readonly remaining?: number
}
