import type { Settings } from '@steeple/contracts'
import type { PlacedDesired } from '@steeple/southbound'
import { assert, type Overrides, suite } from '@steeple/testkit'
import { parse } from 'yaml'
import { renderCore } from '../../src/render/render.ts'
import { desiredWith, settingsWith } from '../support/desired.ts'

const problems = suite('driver-core-b/render problems')

/** What a rendering is refused with, one line per problem; empty when it is not. */
function refusal(desired: Partial<PlacedDesired>, settings: Overrides<Settings> = {}): readonly string[] {
  try {
    renderCore(desiredWith(desired), settingsWith(settings))
    return []
  } catch (error) {
    assert.is((error as { code?: string }).code, 'validation_failed')
    return (error as Error).message.split('\n')
  }
}

problems('names every value that the core would refuse or take wrongly, with what is allowed', async () => {
  assert.equal(
    refusal(
      {
        plmn: { mcc: '99', mnc: '5' },
        tac: 0,
        apns: ['internet', 'Internet', 'bad_one'],
        maxUes: 0,
        addresses: {
          amf: '127.0.0.10',
          upf: '127.0.0.2',
          upd: '127.0.0.9',
          dns: 'dns.example',
          smf: '0.0.0.0',
        },
      },
      {
        core_b: {
          slices: [{ sst: 0 }, { sst: 256, sd: '1' }, { sst: 0 }],
          release: '3.3.9',
          subnet: '10.60.0.1/16',
        },
        hss: { mongo_url: 'http://database' },
      },
    ),
    [
      'plmn.mcc is "99"; allowed are 3 digits',
      'plmn.mnc is "5"; allowed are 2 or 3 digits',
      'tac is 0; allowed is 1 to 16777213, and 16777215',
      'apns.1 is "Internet" a second time',
      'apns.2 is "bad_one": it has the label "bad_one", which is not letters, digits and inner hyphens',
      'core_b.slices.0.sst is 0; allowed is 1 to 255',
      'core_b.slices.1.sst is 256; allowed is 1 to 255',
      'core_b.slices.1.sd is "1"; allowed are 6 hexadecimal digits',
      'core_b.slices.2.sst is 0; allowed is 1 to 255',
      'core_b.slices.2 is slice 0-none a second time',
      'core_b.addresses.upd names no role; roles are amf, ausf, chf, dns, mongo, n2, n3, n4, nrf, nssf, pcf, smf, udm, udr, upf',
      'core_b.addresses.dns is "dns.example"; allowed is an IPv4 address',
      'core_b.addresses.smf is "0.0.0.0"; allowed is the address at which others find it',
      'core_b.addresses.amf is "127.0.0.10", where nrf listens too',
      'policy.max_ues is 0; allowed is 1 to 1000000',
      'core_b.subnet is "10.60.0.1/16", an address in 10.60.0.0/16; write the range',
      'core_b.release is "3.3.9"; allowed is 3.4.0 or later, such as 4.2.3',
      'hss.mongo_url is not mongodb://<host>/<database>',
    ],
  )
})

problems('asks for a pool in which every phone finds an address for every session', async () => {
  assert.equal(refusal({ maxUes: 253 }, { core_b: { subnet: '10.60.0.0/23' } }), [])
  assert.equal(refusal({ maxUes: 254 }, { core_b: { subnet: '10.60.0.0/23' } }), [
    'core_b.subnet is "10.60.0.0/23"; 254 phones with 2 pools (APNs times slices) need /22',
  ])
  assert.equal(refusal({ maxUes: 254 }, { core_b: { subnet: '10.60.0.0/22' } }), [])
})

problems('refuses pools that hold an address of the core, and two that speak PFCP in one place', async () => {
  assert.equal(refusal({ addresses: { n3: '10.60.0.9', upf: '10.70.0.9', n4: '10.70.0.9' } }), [
    'core_b.addresses.n4 is "10.70.0.9", where upf speaks PFCP too',
    'core_b.addresses.n3 lies in core_b.subnet "10.60.0.0/15", whose addresses are the phones\'',
  ])
})

problems('does not repeat the password of a database URL that it cannot read', async () => {
  const lines = refusal({}, { hss: { mongo_url: 'mongodb://core:word@' } })
  assert.equal(lines, ['hss.mongo_url is not mongodb://<host>/<database>'])
})

problems('gives each pool its own range, the same in SMF and UPF', async () => {
  const { files } = renderCore(
    desiredWith({ apns: ['a', 'b', 'c'], maxUes: 10 }),
    settingsWith({ core_b: { subnet: '10.9.0.0/24', slices: [{ sst: 1 }, { sst: 1, sd: '00000A' }] } }),
  )
  const upf = parse(files.get('upfcfg.yaml') ?? '').dnnList
  assert.equal(
    upf.map(({ cidr }: { cidr: string }) => cidr),
    ['10.9.0.0/27', '10.9.0.32/27', '10.9.0.64/27', '10.9.0.96/27', '10.9.0.128/27', '10.9.0.160/27'],
  )
  const smf = parse(files.get('smfcfg.yaml') ?? '').configuration.userplaneInformation.upNodes.UPF
  const pools = smf.sNssaiUpfInfos.flatMap(
    (slice: { dnnUpfInfoList: { dnn: string; pools: { cidr: string }[] }[] }) =>
      slice.dnnUpfInfoList.map(({ dnn, pools: [pool] }) => ({ dnn, cidr: pool?.cidr })),
  )
  assert.equal(pools, upf)
})

problems('never fixes the instance id of a function', async () => {
  const { files } = renderCore(desiredWith(), settingsWith())
  for (const text of files.values()) assert.not.match(text, /nfInstanceId/)
})

problems('takes a slice without a differentiator only for a release whose AMF and SMF take it', () => {
  const ofRelease = (release: string): readonly string[] =>
    refusal({}, { core_b: { release, slices: [{ sst: 1, sd: '010203' }, { sst: 2 }] } })
  assert.equal(ofRelease('3.4.2'), [
    'core_b.slices.1.sd is missing; AMF and SMF of 3.4.2 take no slice without one, those of 3.4.3 do',
  ])
  assert.equal(ofRelease('3.4.3'), [])
})

problems('does without a CHF only for a release whose SMF does', () => {
  const ofRelease = (release: string): readonly string[] =>
    refusal({}, { core_b: { release, charging: false } })
  assert.equal(ofRelease('3.4.2'), [
    'core_b.charging is false; the SMF of 3.4.2 gives no session without a CHF, that of 3.4.3 does',
  ])
  for (const release of ['3.4.0', '3.4.3']) assert.equal(ofRelease(release), [], release)
})

problems.run()
