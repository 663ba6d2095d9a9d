import type { Section } from '@steeple/southbound'
import { functionFile, LOGGER, plmnOf, sbiSections, snssaiOf } from './common-sections.ts'
import type { CorePlan } from './core-plan.ts'

/** The names of the only gNB entry and the only UPF in the SMF's picture. */
const AN_NODE = 'gNB1'
const UPF_NODE = 'UPF'
/** NAS timers of the SMF, TS 24.501 table 10.3.2. */
const SESSION_TIMER: Section = { enable: true, expireTime: '16s', maxRetryTimes: 3 }

/** smfcfg.yaml */
export function smfFile(plan: CorePlan): Section {
  const { places, release } = plan
  return functionFile('smf', {
    smfName: 'SMF',
    ...sbiSections(plan, 'smf'),
    serviceNameList: [
      'nsmf-pdusession',
      'nsmf-event-exposure',
      'nsmf-oam',
      ...(release.listsCallbacks ? ['nsmf-callback'] : []),
    ],
    snssaiInfos: plan.settings.slices.map((slice) => ({
      sNssai: snssaiOf(slice),
      dnnInfos: plan.desired.apns.map((dnn) => ({ dnn, dns: { ipv4: places.dns } })),
    })),
    plmnList: [plmnOf(plan)],
    locality: 'area1',
    pfcp: {
      nodeID: places.n4,
      listenAddr: places.n4,
      externalAddr: places.n4,
      assocFailAlertInterval: '10s',
      assocFailRetryInterval: '30s',
      heartbeatInterval: '10s',
    },
    userplaneInformation: userPlane(plan),
    t3591: SESSION_TIMER,
    t3592: SESSION_TIMER,
    urrPeriod: 30,
    urrThreshold: 500_000,
    requestedUnit: 1000,
  })
}

function userPlane(plan: CorePlan): Section {
  const { places, desired, settings } = plan
  return {
    upNodes: {
      [AN_NODE]: { type: 'AN' },
      [UPF_NODE]: {
        type: 'UPF',
        nodeID: places.of('upf'),
        addr: places.of('upf'),
        sNssaiUpfInfos: settings.slices.map((slice) => ({
          sNssai: snssaiOf(slice),
          dnnUpfInfoList: plan.pools
            .filter(({ sst, sd }) => sst === slice.sst && sd === slice.sd)
            .map(({ dnn, cidr }) => ({ dnn, pools: [{ cidr }] })),
        })),
        interfaces: [{ interfaceType: 'N3', endpoints: [places.n3], networkInstances: [...desired.apns] }],
      },
    },
    links: [{ A: AN_NODE, B: UPF_NODE }],
  }
}

/** uerouting.yaml: the SMF reads it at its start; no subscriber takes a path of its own. */
export function routingFile(): Section {
  return { info: { version: '1.0.7' }, ueRoutingInfo: {} }
}

/** upfcfg.yaml */
export function upfFile({ places, pools }: CorePlan): Section {
  return {
    version: '1.0.3',
    pfcp: { addr: places.of('upf'), nodeID: places.of('upf'), retransTimeout: '1s', maxRetrans: 3 },
    gtpu: { forwarder: 'gtp5g', ifList: [{ addr: places.n3, type: 'N3' }] },
    dnnList: pools.map(({ dnn, cidr }) => ({ dnn, cidr })),
    logger: LOGGER,
  }
}
