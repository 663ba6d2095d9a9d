import type { RspCurve } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { createEuicc } from '../src/euicc.ts'
import { downloadProfile } from '../src/lpa.ts'
import { toHex } from '../src/octets.ts'
import { chain, EID } from './support/pki.ts'
import { CODE, smallSmdp } from './support/small-smdp.ts'

const download = suite('virtual-euicc/download')
const CURVES: readonly RspCurve[] = ['P-256', 'brainpoolP256r1']

for (const curve of CURVES)
  for (const ppk of [true, false])
    download(
      `installs a profile on ${curve}, ${ppk ? 'protected beforehand' : 'with session keys'}`,
      async () => {
        const euicc = createEuicc({ eid: EID, chains: [chain('P-256'), chain('brainpoolP256r1')] })
        const smdp = smallSmdp({ curve, ppk })
        const { profile } = await downloadProfile({ euicc, activationCode: CODE, transport: smdp.transport })
        assert.is(profile.imsi, '999700000000001')
        assert.is(profile.iccid, '8999901000000000013')
        assert.is(profile.algorithm, 'milenage')
        assert.is(toHex(profile.ki), '465B5CE8B199B49FAA5F0A2EE238A6BC')
        assert.is(toHex(profile.opc), 'E8ED289DEBA952E4283B54E88E6183CA')
        assert.is(profile.mncLength, 2)
        assert.is(profile.accessClasses, 2)
        assert.is(profile.isEnabled, false)
        assert.is(smdp.notifications.length, 2, 'the result, and the notification that the metadata asks for')
      },
    )

download.run()
