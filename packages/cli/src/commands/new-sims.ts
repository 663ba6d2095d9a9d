import type { RequestOf } from '@steeple/client'
import type { Command } from 'commander'
import { gathered, positiveInteger } from './options.ts'
import { simHash } from './sim-columns.ts'

/** What can be said of new SIMs, whether they are for cards or for eSIMs. */
export interface NewSimOptions {
  readonly count?: number
  readonly profile?: string
  readonly apn?: readonly string[]
  readonly msinStart?: string
  readonly imsi?: string
  readonly msisdn?: string
  readonly quotaBytes?: number
  readonly downlinkBps?: number
  readonly uplinkBps?: number
  readonly label?: string
  readonly replaces?: string
}

/** The options of `svc sim issue` and `svc esim issue` that are of new SIMs, but for how long they live. */
export function newSimOptions(command: Command): Command {
  return command
    .option('--count <sims>', 'so many new SIMs, 1 to 1000; 1 when absent', positiveInteger)
    .option('--profile <name>', 'of new SIMs; default when absent')
    .option('--apn <apn>', "one of the policy's, may be given several times; all when absent", gathered)
    .option('--msin-start <digits>', 'first subscriber number; drawn at random when absent')
    .option('--imsi <digits>', 'this very IMSI; other users see it in the process list')
    .option('--msisdn <digits>', 'telephone number without a plus')
    .option('--quota-bytes <bytes>', 'data allowance', positiveInteger)
    .option('--downlink-bps <rate>', 'most that a new SIM gets, with --uplink-bps: bit/s', positiveInteger)
    .option('--uplink-bps <rate>', 'most that a new SIM sends, with --downlink-bps: bit/s', positiveInteger)
    .option('--label <text>', 'to find them again')
    .option('--replaces <hash>', 'SIM swap: revoke this one and take its place, as from a card to an eSIM')
}

type NewSims = NonNullable<RequestOf<'POST', '/v1/sims'>['body']>

/** Their part of a body; JSON leaves out what is undefined. */
export function newSimBody(options: NewSimOptions): NewSims {
  const { count, profile, apn, msinStart, imsi, msisdn, quotaBytes, label, replaces } = options
  const { downlinkBps, uplinkBps } = options
  return {
    count,
    profile,
    apns: apn,
    msin_start: msinStart,
    imsi,
    msisdn,
    quota_bytes: quotaBytes,
    // Of one alone the service says which is missing.
    ambr:
      downlinkBps === undefined && uplinkBps === undefined
        ? undefined
        : ({ downlink_bps: downlinkBps, uplink_bps: uplinkBps } as NewSims['ambr']),
    label,
    replaces: replaces === undefined ? undefined : simHash(replaces),
  }
}
