import type { Section } from '@steeple/southbound'
import { certificateOf, functionFile, mongoOf, sbiSections } from './common-sections.ts'
import type { CorePlan } from './core-plan.ts'

/** Diameter ports between the parts of the CHF; RFC 6733 §2.1 and the next. */
const ABMF_PORT = 3868
const RATING_PORT = 3869

/** udmcfg.yaml: no home network key, so phones conceal nothing and their SIMs need no public key. */
export function udmFile(plan: CorePlan): Section {
  return functionFile('udm', {
    serviceNameList: ['nudm-sdm', 'nudm-uecm', 'nudm-ueau', 'nudm-ee', 'nudm-pp'],
    ...sbiSections(plan, 'udm'),
  })
}

/** udrcfg.yaml */
export function udrFile(plan: CorePlan): Section {
  return functionFile('udr', {
    ...sbiSections(plan, 'udr'),
    dbConnectorType: 'mongodb',
    mongodb: mongoOf(plan),
  })
}

/** pcfcfg.yaml: no BSF runs. */
export function pcfFile(plan: CorePlan): Section {
  return functionFile('pcf', {
    pcfName: 'PCF',
    ...sbiSections(plan, 'pcf'),
    timeFormat: '2019-01-02 15:04:05',
    defaultBdtRefId: 'BdtPolicyId-',
    bsf: { enable: false },
    serviceList: [
      { serviceName: 'npcf-am-policy-control' },
      { serviceName: 'npcf-smpolicycontrol', suppFeat: '3fff' },
      { serviceName: 'npcf-bdtpolicycontrol' },
      { serviceName: 'npcf-policyauthorization', suppFeat: '3' },
      { serviceName: 'npcf-eventexposure' },
      { serviceName: 'npcf-ue-policy-control' },
      ...(plan.release.listsCallbacks ? [{ serviceName: 'npcf-callback' }] : []),
    ],
    mongodb: mongoOf(plan),
    locality: 'area1',
  })
}

/** chfcfg.yaml: charging records go to files only, nothing is uploaded. */
export function chfFile(plan: CorePlan): Section {
  const diameter = (port: number): Section => ({
    protocol: 'tcp',
    hostIPv4: plan.places.of('chf'),
    port,
    tls: certificateOf('chf'),
  })
  return functionFile('chf', {
    chfName: 'CHF',
    ...sbiSections(plan, 'chf'),
    serviceNameList: ['nchf-convergedcharging'],
    mongodb: mongoOf(plan),
    quotaValidityTime: 10_000,
    volumeLimit: 50_000,
    volumeLimitPDU: 10_000,
    volumeThresholdRate: 0.8,
    // Its other keys are asked for although it is off.
    cgf: {
      enable: false,
      hostIPv4: '127.0.0.1',
      port: 2121,
      listenPort: 2122,
      passiveTransferPortRange: { start: 2123, end: 2130 },
      tls: certificateOf('chf'),
      cdrFilePath: '/tmp',
    },
    abmfDiameter: diameter(ABMF_PORT),
    rfDiameter: diameter(RATING_PORT),
  })
}
