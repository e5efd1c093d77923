-- A tenant in which the demo's story is played, and the tenant for which it is: its keys count as none (keyless_tenant).

ALTER TABLE tenants ADD COLUMN demo_of uuid;
CREATE INDEX tenants_of_demos ON tenants (demo_of) WHERE demo_of IS NOT NULL;
