/** Texts of the own account. */
export const accountEn = {
  'account.title': 'My account',
  'account.who': 'Who is signed in',
  'account.by': 'Signed in by',
  'account.kind.user': 'a person',
  'account.kind.token': 'a token',
  'account.kind.admin-env': 'the admin token of the box',
  'account.kind.cli': 'a certificate',
  'account.noPerson':
    'Passwords, passkeys and sessions are changed by who has signed in. You are here by another credential.',
  'account.password': 'Change the password',
  'account.password.now': 'Password now',
  'account.password.new': 'New password',
  'account.password.help': 'At least {count} characters. Every other session of yours ends.',
  'account.password.again': 'New password once more',
  'account.password.other': 'The two are not the same.',
  'account.password.done': 'The password is changed.',
  'account.recovery':
    'They let you in when your phone with the authenticator app is lost: type one in place of the six digits of the app. Each works once. Keep them apart from the phone. When none is left, an administrator gives you others.',
  'account.recovery.left': '{count} of ten {count|is|are} left.',
  'account.recovery.new': 'Draw new recovery codes',
  'account.recovery.new.what':
    'Ten new ones are shown once. Those that you have are good for nothing then. Authenticator and password stay.',
  'account.recovery.drawn': 'Your new recovery codes',
  'account.recovery.box': 'When nobody can sign in any more, who stands at the box can:',
  'account.sessions': 'My sessions',
  'account.passkeys.what':
    'A passkey takes the place of password and code: this device asks for your finger, face or PIN.',
  'account.passkeys.noTls':
    'This browser makes passkeys over TLS, by the name of the box, or on the box itself alone.',
  'account.passkey.label': 'Name of the passkey',
  'account.passkey.label.help': 'To know it by: the device, for instance.',
  'account.passkey.make': 'Add a passkey',
  'account.passkey.made': 'The passkey is added. It opens the box from the next sign-in on.',
  'account.passkey.cancelled': 'No passkey was made: it was cancelled, or this device cannot make one.',
  'account.passkey.remove.title': 'Remove the passkey {name}?',
  'account.passkey.remove.what': 'It opens nothing from then on. Password and code still do.',
} as const

declare module './index.ts' {
  interface AreaTexts {
    readonly account: typeof accountEn
  }
}
