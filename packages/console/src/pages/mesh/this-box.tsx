import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { toast } from '../../ui/toast.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { JoinDialog } from './join-dialog.tsx'
import { LeaveDialog } from './leave-dialog.tsx'
import type { MeshMembers } from './peer-facts.ts'

const FIELDS = ['name', 'endpoint', 'key', 'routes'] as const
const EMPTY = { name: '', endpoint: '', key: '', routes: '' }

/** Links a box that is no member, by hand: the same has to be done on the other side. */
function LinkDialog({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState(EMPTY)
  const add = useAction(() =>
    api.post('/v1/peers', {
      body: {
        name: typed.name.trim(),
        endpoint: typed.endpoint.trim(),
        public_key: typed.key.trim(),
        routes: typed.routes.split(/[\s,]+/).filter((route) => route !== ''),
      },
    }),
  )
  const go = async (): Promise<void> => {
    const result = await add.run()
    if (result?.ok !== true) return
    toast({ text: t('mesh.linked', { name: result.data.name }) })
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('mesh.do.link')}
      confirm={t('mesh.link.go')}
      isBusy={add.isBusy}
      error={add.error}
      onConfirm={() => void go()}
      onClose={onClose}
    >
      <div class="stack">
        <p>{t('mesh.link.what')}</p>
        {FIELDS.map((field) => (
          <Field
            key={field}
            label={t(`mesh.link.by.${field}`)}
            help={t(`mesh.link.by.${field}.help`)}
            value={typed[field]}
            onInput={(text) => setTyped((known) => ({ ...known, [field]: text }))}
            isRequired
          />
        ))}
      </div>
    </ConfirmDialog>
  )
}

const LOOK_MS = 10_000

/** What is being done about the mesh. */
type Doing = 'invite' | 'join' | 'leave' | 'link' | 'rotate'

interface BoxProps {
  readonly members: MeshMembers | undefined
  readonly nodeId: string | undefined
  readonly onChange: () => void
}

/** What others must know of this box, and what can be done about its mesh. */
export function ThisBox({ members, nodeId, onChange }: BoxProps) {
  const self = useQuery('/v1/peers/self', {}, { on: ['peer.*', 'mesh.*', 'node.*'], everyMs: LOOK_MS })
  const [doing, setDoing] = useState<Doing | undefined>(undefined)
  const { data, error } = self
  const changed = (): void => {
    onChange()
    self.reload()
  }
  return (
    <section class="card" aria-labelledby="mesh-self">
      <h2 id="mesh-self">{t('mesh.self')}</h2>
      {error === undefined ? null : <ErrorNotice error={error} onRetry={self.reload} />}
      {data === undefined ? null : <Facts self={data} members={members} nodeId={nodeId} />}
      <Actions members={members} nodeId={nodeId} onDo={setDoing} />
      <Chosen
        doing={doing}
        nodeId={nodeId ?? ''}
        mesh={members?.mesh.name ?? ''}
        isRotating={typeof data?.next_public_key === 'string'}
        onClose={() => setDoing(undefined)}
        onDone={changed}
      />
    </section>
  )
}

function Facts({
  self,
  members,
  nodeId,
}: Pick<BoxProps, 'members' | 'nodeId'> & { readonly self: AnswerOf<'GET', '/v1/peers/self'> }) {
  const { problem, address, listen_port: port, public_key: key, next_public_key: next } = self
  return (
    <>
      {problem === null ? null : (
        <Notice tone="bad">
          <Said>{problem}</Said>
        </Notice>
      )}
      <dl class="facts">
        <dt>{t('mesh.which')}</dt>
        <dd>{members === undefined ? '–' : whichMesh(members, nodeId)}</dd>
        <dt>{t('mesh.link.address')}</dt>
        <dd>{address ?? t('mesh.self.noAddress')}</dd>
        <dt>{t('mesh.self.port')}</dt>
        <dd>
          {port} ({self.interface})
        </dd>
        <dt>{t('mesh.key')}</dt>
        <dd>
          <code>{key ?? '–'}</code>
          {key === null ? null : <Copy text={key} label={t('mesh.key.copy')} />}
        </dd>
        {next === null ? null : <NextKey text={next} names={self.waiting_for} />}
      </dl>
    </>
  )
}

function NextKey({ text, names }: { readonly text: string; readonly names: readonly string[] }) {
  return (
    <>
      <dt>{t('mesh.key.next')}</dt>
      <dd>
        <code>{text}</code>
        <Copy text={text} label={t('mesh.key.next.copy')} />
        {names.length === 0 ? null : <p class="fine">{t('mesh.key.waiting', { names: names.join(', ') })}</p>}
      </dd>
    </>
  )
}

interface ChosenProps {
  readonly doing: Doing | undefined
  readonly nodeId: string
  readonly mesh: string
  readonly isRotating: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}

function Chosen({ doing, nodeId, mesh, isRotating, onClose, onDone }: ChosenProps) {
  switch (doing) {
    case 'invite':
      return <InviteDialog onClose={onClose} />
    case 'join':
      return <JoinDialog onClose={onClose} onDone={onDone} />
    case 'link':
      return <LinkDialog onClose={onClose} />
    case 'rotate':
      return <RotateDialog isUnderWay={isRotating} onClose={onClose} onDone={onDone} />
    case 'leave':
      return <LeaveDialog nodeId={nodeId} name={mesh} isOwn onClose={onClose} onDone={onDone} />
    default:
      return null
  }
}

function whichMesh({ mesh, members }: MeshMembers, nodeId: string | undefined): string {
  const values = { name: mesh.name, count: members.length }
  return t(mesh.root_node_id === nodeId ? 'mesh.which.root' : 'mesh.which.member', values)
}

/** What may be done here: a root invites, a box alone joins, a member leaves. */
function Actions({
  members,
  nodeId,
  onDo,
}: Pick<BoxProps, 'members' | 'nodeId'> & { readonly onDo: (doing: Doing) => void }) {
  const isRoot = members !== undefined && members.mesh.root_node_id === nodeId
  const lacksTls = useLackOfTls(may('admin') && isRoot)
  const offers: readonly (readonly [Doing, boolean])[] = [
    ['invite', may('admin') && isRoot],
    ['join', may('admin') && isRoot && members.members.length === 1],
    ['leave', may('admin') && members !== undefined && !isRoot],
    ['link', may('operator')],
    ['rotate', may('operator')],
  ]
  return (
    <>
      {lacksTls ? <NeedsTls /> : null}
      <div class="toolbar offers">
        {offers.map(([doing, isOffered]) =>
          isOffered ? (
            <Button
              key={doing}
              kind={doing === 'invite' ? 'primary' : 'plain'}
              isDisabled={doing === 'invite' && lacksTls}
              onClick={() => onDo(doing)}
            >
              {t(`mesh.do.${doing}`)}
            </Button>
          ) : null,
        )}
      </div>
    </>
  )
}

/** Whether others could not join here, since the box speaks no TLS; false until that is known. */
function useLackOfTls(isAsked: boolean): boolean {
  const settings = useQuery(isAsked ? '/v1/settings' : undefined, {}, { on: ['settings.*', 'config.*'] })
  return settings.data?.settings.find(({ key }) => key === 'tls.enabled')?.value === false
}

/** Why nobody can be invited, and what to do about it, before anything is filled in. */
function NeedsTls() {
  return (
    <Notice tone="warn">
      <p>{t('mesh.needsTls')}</p>
      <p>
        <a href="/settings?q=tls.enabled">{t('mesh.needsTls.setting')}</a> ·{' '}
        <a href="/docs/how-to/mesh.html">{t('mesh.needsTls.docs')}</a>
      </p>
    </Notice>
  )
}

/** Changes the WireGuard key of this box; what waits for whom stands on the page. */
function RotateDialog({
  isUnderWay,
  onClose,
  onDone,
}: {
  /** Whether a next key exists already. */
  readonly isUnderWay: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [isForced, setForced] = useState(false)
  const rotate = useAction(() => api.post('/v1/peers/rotate', { body: isForced ? { force: true } : {} }))
  const go = async (): Promise<void> => {
    const result = await rotate.run()
    if (result?.ok !== true) return
    const { waiting_for: names } = result.data
    toast({
      text: names.length === 0 ? t('mesh.rotated') : t('mesh.key.waiting', { names: names.join(', ') }),
    })
    onDone()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('mesh.do.rotate')}
      confirm={t('mesh.rotate.go')}
      isBusy={rotate.isBusy}
      error={rotate.error}
      onConfirm={() => void go()}
      onClose={onClose}
    >
      <p>{t(isUnderWay ? 'mesh.rotate.underWay' : 'mesh.rotate.what')}</p>
      <Checkbox
        label={t('mesh.rotate.force')}
        help={t('mesh.rotate.force.help')}
        isChecked={isForced}
        onChange={setForced}
      />
    </ConfirmDialog>
  )
}
