import type { Ambr, FoundSlice } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { FoundParts } from '../found-parts.ts'
import type { Doc } from '../links/document-link.ts'
import type { FoundDocs } from './found.ts'
import { COLLECTIONS, policyDnnKey, sessionRate, snssaiKey, ueRate } from './names.ts'
import { snssaiDoc, workingDnn } from './session.ts'

/** The documents with which free5GC holds what another core held of a subscriber. */
export function madeDocs(
  { slices: all, ambrBps, msisdn, amf }: FoundParts,
  plmn: string,
  otherwise: Ambr,
): FoundDocs {
  const slices = [...Map.groupBy(all, snssaiKey)].map(([key, same]) => ({ key, slice: joined(same) }))
  const ambr = ambrBps ?? otherwise
  const [first, ...others] = slices.map(({ slice }) => slice)
  const usual = slices.map(({ slice }) => slice).filter(({ isDefault }) => isDefault)
  const chosen = usual.length > 0 ? usual : first === undefined ? [] : [first]
  const inPlmn = { servingPlmnId: plmn }
  const perSlice = (of: (slice: FoundSlice) => Doc): Doc =>
    Object.fromEntries(slices.map(({ key, slice }) => [key, of(slice)]))
  return new Map<string, readonly Doc[]>([
    [COLLECTIONS.auth, [{ authenticationMethod: '5G_AKA', authenticationManagementField: amf ?? '8000' }]],
    [
      COLLECTIONS.am,
      [
        {
          ...inPlmn,
          gpsis: [`msisdn-${msisdn ?? ''}`],
          nssai: {
            defaultSingleNssais: chosen.map(snssaiDoc),
            singleNssais: [first, ...others].flatMap((one) =>
              one === undefined || chosen.includes(one) ? [] : [snssaiDoc(one)],
            ),
          },
          subscribedUeAmbr: { uplink: ueRate(ambr.up), downlink: ueRate(ambr.down) },
        },
      ],
    ],
    [
      COLLECTIONS.selection,
      [
        {
          ...inPlmn,
          subscribedSnssaiInfos: perSlice(({ apns }) => ({
            dnnInfos: apns.map(({ name }) => ({ dnn: name })),
          })),
        },
      ],
    ],
    [
      COLLECTIONS.sm,
      slices.map(({ slice }) => ({
        ...inPlmn,
        singleNssai: snssaiDoc(slice),
        dnnConfigurations: Object.fromEntries(slice.apns.map((apn) => [apn.name, madeDnn(apn, ambr)])),
      })),
    ],
    [COLLECTIONS.policyAm, [{ subscCats: ['free5gc'] }]],
    [
      COLLECTIONS.policySm,
      [
        {
          smPolicySnssaiData: perSlice((slice) => ({
            snssai: snssaiDoc(slice),
            smPolicyDnnData: Object.fromEntries(
              slice.apns.map(({ name }) => [policyDnnKey(name), { dnn: name }]),
            ),
          })),
        },
      ],
    ],
    [
      COLLECTIONS.charging,
      slices.map(({ key }) => ({
        ...{ ...inPlmn, snssai: key, dnn: '', filter: '' },
        ...{ chargingMethod: 'Offline', quota: '0', unitCost: '1' },
      })),
    ],
    [COLLECTIONS.identity, msisdn === undefined ? [] : [{ gpsi: `msisdn-${msisdn}` }]],
  ])
}

/** Slices of one name as one: each APN once. */
function joined(same: readonly FoundSlice[]): FoundSlice {
  const apns = [
    ...new Map(
      same
        .flatMap((slice) => slice.apns)
        .toReversed()
        .map((apn) => [apn.name, apn]),
    ),
  ]
  const [{ sst, sd } = { sst: 1, sd: undefined }] = same
  return {
    sst,
    sd,
    isDefault: same.some(({ isDefault }) => isDefault),
    apns: apns.map(([, apn]) => apn).toReversed(),
  }
}

function madeDnn({ ambrBps, qos, addresses }: FoundSlice['apns'][number], ambr: Ambr): Doc {
  const { up, down } = ambrBps ?? ambr
  const fresh = workingDnn({})
  const staticIpAddress = addresses.map((one) => (one.includes(':') ? { ipv6Addr: one } : { ipv4Addr: one }))
  const profile = fresh['5gQosProfile'] as Doc // as workingDnn makes it
  return {
    ...fresh,
    ...(qos === undefined ? {} : { '5gQosProfile': { ...profile, '5qi': new Int32(qos) } }),
    sessionAmbr: { uplink: sessionRate(up), downlink: sessionRate(down) },
    ...(staticIpAddress.length === 0 ? {} : { staticIpAddress }),
  }
}
