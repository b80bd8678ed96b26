"""What the block engine is compared with: other engines of this project, and public libraries that do the same job."""
