import { type Doc, int32, objectId, type Value } from './ejson.ts'

/** Draws the 24 hex digits of an ObjectId. */
export type DrawId = () => string

/** What `add` and its variants are told. */
export interface NewSubscriber {
  readonly imsi: string
  readonly key: string
  readonly opc: string
  readonly apns: readonly string[]
  readonly ip?: string
  readonly sst?: number
  readonly sd?: string
}

/** The document that open5gs-dbctl 0.10.3 inserts, field by field and in its order. */
export function freshSubscriber(id: string, one: NewSubscriber, draw: DrawId): Doc {
  const { imsi, key, opc, ip, sst = 1, sd } = one
  const sessions = one.apns.map((apn) => addedSession(apn, ip, draw))
  return {
    _id: objectId(id),
    schema_version: int32(1),
    imsi,
    msisdn: [],
    imeisv: [],
    mme_host: [],
    mm_realm: [],
    purge_flag: [],
    slice: [
      {
        sst: int32(sst),
        ...(sd === undefined ? {} : { sd }),
        default_indicator: true,
        session: sessions,
        _id: objectId(draw()),
      },
    ],
    security: { k: key, op: null, opc, amf: '8000' },
    ambr: ambrOf(1_000_000_000, 0, 1_000_000_000, 0),
    access_restriction_data: int32(32),
    network_access_mode: int32(0),
    subscriber_status: int32(0),
    operator_determined_barring: int32(0),
    subscribed_rau_tau_timer: int32(12),
    __v: int32(0),
  }
}

/** The session that `update_apn` and `update_slice` push, which differs from that of `add`. */
export function pushedSession(apn: string, draw: DrawId): Doc {
  return {
    name: apn,
    type: int32(3),
    _id: objectId(draw()),
    pcc_rule: [],
    ambr: { uplink: rate(1, 3), downlink: rate(1, 3) },
    qos: qosOf(1),
  }
}

/** The slice that `update_slice` pushes. */
export function pushedSlice(apn: string, sst: number, sd: string, draw: DrawId): Doc {
  return {
    sst: int32(sst),
    sd,
    default_indicator: false,
    _id: objectId(draw()),
    session: [pushedSession(apn, draw)],
  }
}

/** A value and unit each way; unit 0 bit/s, 1 kbit/s, 2 Mbit/s, 3 Gbit/s, 4 Tbit/s. */
export function ambrOf(down: number, downUnit: number, up: number, upUnit: number): Doc {
  return { downlink: rate(down, downUnit), uplink: rate(up, upUnit) }
}

function addedSession(apn: string, ip: string | undefined, draw: DrawId): Doc {
  const ue: Readonly<Record<string, Value>> = ip === undefined ? {} : { ue: { ipv4: ip } }
  return {
    name: apn,
    type: int32(3),
    qos: qosOf(2),
    ambr: ambrOf(1_000_000_000, 0, 1_000_000_000, 0),
    ...ue,
    pcc_rule: [],
    _id: objectId(draw()),
  }
}

function qosOf(vulnerability: number): Doc {
  const arp = {
    priority_level: int32(8),
    pre_emption_capability: int32(1),
    pre_emption_vulnerability: int32(vulnerability),
  }
  return { index: int32(9), arp }
}

function rate(value: number, unit: number): Doc {
  return { value: int32(value), unit: int32(unit) }
}
