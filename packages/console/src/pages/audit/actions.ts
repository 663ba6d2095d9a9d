import type { AuditAction } from '../../text/audit.en.ts'
import { type TextKey, t, word } from '../../text/index.ts'

/** The actions that have words, for the list to choose from, in the order of those. */
export function knownActions(): readonly { readonly value: string; readonly label: string }[] {
  return ACTIONS.map((value) => ({ value, label: t(`audit.do.${value}` satisfies TextKey) })).toSorted(
    (a, b) => a.label.localeCompare(b.label),
  )
}

/** What an action is in words; its name where there are none. */
export function actionText(action: string): string {
  return word('audit.do', action)
}

const ACTIONS: readonly AuditAction[] = [
  'alert.ack',
  'alert.silence',
  'auth.flood',
  'auth.lock',
  'auth.login',
  'auth.logout',
  'auth.refuse',
  'auth.reuse',
  'auth.session.end',
  'backup.create',
  'backup.restore',
  'clock.confirm',
  'compliance.export',
  'core.restart',
  'esim.issue',
  'esim.revoke',
  'esim.downloaded',
  'lifecycle.transition',
  'log.level',
  'mesh.invite',
  'mesh.join',
  'node.enroll',
  'node.leave',
  'passkey.create',
  'passkey.remove',
  'passkey.disable',
  'peer.accept',
  'peer.add',
  'peer.approve',
  'peer.remove',
  'plugin.disable',
  'plugin.enable',
  'plugin.install',
  'plugin.load',
  'plugin.reload',
  'plugin.secret.remove',
  'plugin.secret.set',
  'plugin.uninstall',
  'plugin.unload',
  'policy.update',
  'sim.bulk',
  'sim.forget',
  'sim.import',
  'sim.issue',
  'sim.label',
  'sim.quota',
  'sim.resume',
  'sim.revoke',
  'sim.suspend',
  'spectrum.check',
  'support.bundle',
  'token.create',
  'token.delete',
  'tx.arm',
  'tx.disarm',
  'user.accept',
  'user.certificate',
  'user.certificate_revoke',
  'user.create',
  'user.invite',
  'user.password',
  'user.remove',
  'user.reset',
  'user.roles',
  'user.totp',
  'user.uninvite',
]
