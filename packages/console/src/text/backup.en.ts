/** Texts of backup and restore. */
export const backupEn = {
  'backup.title': 'Backup and restore',
  'backup.docs': 'What is in a backup, and what is not',
  'backup.take': 'Take a backup',
  'backup.take.what':
    'One file with everything of this moment: SIMs, people, rules, the audit trail, installed plugins. The configuration file is not in it.',
  'backup.taken': '{name} is downloaded, {size}. Keep it on another machine.',
  'backup.taking': 'Taking it: {size} …',
  'backup.passphrase': 'Passphrase',
  'backup.passphrase.help': 'At least {count} characters. Without it nobody opens the file, you neither.',
  'backup.passphrase.again': 'Passphrase once more',
  'backup.passphrase.other': 'The two are not the same.',
  'backup.passphrase.draw': 'Draw one',
  'backup.passphrase.drawn':
    'Write it down or keep it in a password manager before you go on: it is stored nowhere.',
  'backup.strength': 'Strength',
  'backup.strength.short': 'too short',
  'backup.strength.weak': 'easy to guess',
  'backup.strength.fair': 'fair',
  'backup.strength.strong': 'strong',
  'backup.plain': 'Without a passphrase',
  'backup.plain.help':
    'No key is in the file then: it is of use to this box alone, and not when this box is lost.',
  'backup.history': 'Backups so far',
  'backup.history.none': 'Nobody has taken a backup',
  'backup.history.none.help': 'Take one now, and after each change that you do not want to make again.',
  'backup.history.taken': 'Taken',
  'backup.history.restored': 'Restored',
  'backup.history.plain': 'without a passphrase',
  'backup.history.failed': 'failed',
  'backup.schedule': 'Every',
  'backup.schedule.none':
    'No backup is taken by itself. Set backup.schedule, 24h for instance, in the configuration file.',
  'backup.directory': 'Into',
  'backup.keep': 'Kept',
  'backup.restore': 'Restore a backup',
  'backup.restore.what':
    'First it is read and checked to its last octet, and you see what would be different. Nothing changes until you confirm.',
  'backup.restore.passphrase': 'The one that it was taken with; empty when it was taken without.',
  'backup.file': 'File of the backup',
  'backup.adopt': 'It is of another box: this box becomes that one',
  'backup.adopt.help':
    'For a new machine in the place of a lost one. Switch the old one off first: there must be one of it.',
  'backup.check': 'Check the file',
  'backup.check.of': 'Check the file, {size}',
  'backup.checking': 'Sending and checking the file',
  'backup.checked': 'The file is whole and can be restored here.',
  'backup.of': 'Of the box',
  'backup.at': 'Taken',
  'backup.version': 'By version',
  'backup.keys': 'Keys',
  'backup.keys.with': 'in it',
  'backup.keys.without': 'not in it: for this box alone',
  'backup.difference': 'What would be different',
  'backup.difference.what':
    '{count} of {all} {all|table|tables} would have more or fewer rows. Rows that are there in both may still say something else.',
  'backup.difference.none': 'Each table has as many rows as in the backup.',
  'backup.table': 'Table',
  'backup.rows.now': 'Rows now',
  'backup.rows.then': 'Rows then',
  'backup.rows.difference': 'Difference',
  'backup.restore.go': 'Restore this backup',
  'backup.restore.title': 'Put this box back to the backup of {name}?',
  'backup.restore.state': 'All that was changed since the backup is gone: SIMs, people, rules, quotas.',
  'backup.restore.start': 'The box goes off the air and starts anew; everybody has to sign in again.',
  'backup.restore.sims':
    'SIMs that were issued since come back as revoked, so that no phone is on the air that nobody sees.',
  'backup.restore.credentials':
    'Passwords, tokens and roles are those of the backup: what was taken away since is valid again.',
  'backup.restore.kept': 'What is now is kept in a folder beside it.',
  'backup.restore.understood': 'I know what will be gone',
  'backup.restored': 'The box is what it was in the backup of {name}.',
  'backup.restored.kept':
    'What was before is in {folder} of the data directory. Remove it when it is not needed: it holds keys.',
  'backup.restored.signIn': 'Sign in again, with what was valid then.',
} as const

declare module './index.ts' {
  interface AreaTexts {
    readonly backup: typeof backupEn
  }
}
