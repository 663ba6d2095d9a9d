import { X509Certificate } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import { certificateProblem } from '../../src/discovery/discovery.ts'
import { SOME_CERTIFICATE, SOME_FINGERPRINT } from '../support/certificate.ts'

const confirming = suite('mesh/discovery/confirm')
const DER = new X509Certificate(SOME_CERTIFICATE).raw
const NODE = '66666666-7777-4888-9999-000000000000'
const HEARD = {
  id: '',
  nodeId: NODE,
  name: 'box',
  meshName: 'm',
  address: '192.0.2.1',
  port: 1,
  fingerprint: SOME_FINGERPRINT,
  heardAtMs: 0,
}
const no = (): boolean => false

confirming('takes the announced certificate of the announced node, and no other', () => {
  assert.is(certificateProblem(DER, HEARD, no), undefined)
  assert.match(
    certificateProblem(DER, { ...HEARD, fingerprint: 'ab'.repeat(32) }, no) ?? '',
    /another certificate/,
  )
  assert.match(
    certificateProblem(DER, { ...HEARD, nodeId: NODE.replace('6', '5') }, no) ?? '',
    /another node/,
  )
  assert.match(certificateProblem(DER, { ...HEARD, nodeId: NODE.slice(0, -1) }, no) ?? '', /another node/)
})

confirming('takes none that the mesh has revoked', () => {
  assert.match(certificateProblem(DER, HEARD, () => true) ?? '', /put out of this mesh/)
})

confirming.run()
